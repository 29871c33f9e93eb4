# make demo        a mounted demo store in demo/mnt        make demo-stop    unmount it
# make test        format, lints, all tests, docs          make bench        figures beside the floor and peers

CELLFS = $(CURDIR)/target/release/cellfs
BUILD_PACKAGES = fuse3 gcc libc6-dev
TEST_PACKAGES = $(BUILD_PACKAGES) rsync tar git vim ed cpio zip unzip patch sqlite3 python3 inotify-tools attr

.PHONY: demo demo-stop test test-hbase torture bench build setup-test

build:
	@mount-scripts/setup.sh $(BUILD_PACKAGES)
	cargo build --release --locked

demo: build
	@mount-scripts/demo.sh start $(CELLFS)

demo-stop:
	@mount-scripts/demo.sh stop $(CELLFS)

setup-test:
	@mount-scripts/setup.sh $(TEST_PACKAGES) \
	    $(if $(shell command -v javac),,openjdk-17-jdk-headless) $(if $(shell command -v mvn),,maven)
	@cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
	@tests/posix/tools.sh target/tools

test: setup-test
	cargo fmt --check
	cargo clippy --release --locked --all-targets -- -D warnings
	cargo test --release --locked --no-fail-fast
	RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --no-deps --document-private-items

# Random histories, from a fresh seed each time, on the store and on HBase's own code: every answer is compared.
test-hbase: setup-test
	CELLFS_HBASE_SEED=$$(date +%s) CELLFS_HBASE_HISTORIES=$${CELLFS_HBASE_HISTORIES:-500} \
	    cargo test --release --locked --test integration -- --nocapture histories_agree_with_hbase

# Kills, power cuts, damage, full disks and failing calls in great numbers: about an hour. Each prints what it tried.
torture: setup-test
	@mount-scripts/setup.sh xfsprogs e2fsprogs strace python3
	CELLFS_TORTURE=full cargo test --release --locked --lib -- --nocapture store::tests::damage store::tests::torture
	CELLFS_KILLS=$${CELLFS_KILLS:-3000} CELLFS_POWER_CUTS=$${CELLFS_POWER_CUTS:-5000} \
	    CELLFS_FULL_DISKS=$${CELLFS_FULL_DISKS:-200} CELLFS_RACES=$${CELLFS_RACES:-500} \
	    cargo test --release --locked --test integration -- --nocapture torture:: full_disk races sync_that

bench: setup-test
	cargo bench --locked --bench floor
	cargo bench --locked --bench store
