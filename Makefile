# make demo        a mounted demo store in demo/mnt        make demo-stop    unmount it
# make test        format, lints, all tests, fuzz, docs    make bench        figures beside the floor and peers
# make install     into PREFIX below DESTDIR               make uninstall    removes what that has put there
# make deb         a Debian package in target/debian
# make audit       licences, bans, sources and advisories of what is built in

# What is installed; the demo has a program that is built in half the time.
CELLFS = $(CURDIR)/target/dist/cellfs
DEMO = $(abspath $(or $(CARGO_TARGET_DIR),target))/release/cellfs
BUILD_PACKAGES = fuse3 gcc libc6-dev
TEST_PACKAGES = $(BUILD_PACKAGES) g++ rsync tar git vim ed cpio zip unzip patch sqlite3 python3 inotify-tools attr \
    mandoc systemd binutils zsh fish logrotate openssl

DESTDIR =
PREFIX = /usr/local
BINDIR = $(PREFIX)/bin
LIBDIR = $(PREFIX)/lib
# Where mount(8) looks, whatever PREFIX is.
SBINDIR = /sbin
SYSCONFDIR = /etc
SHAREDIR = $(PREFIX)/share
ZSHDIR = $(SHAREDIR)/zsh/site-functions
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
DEB = target/debian/cellfs_$(VERSION)_$(shell dpkg --print-architecture 2>/dev/null).deb

.PHONY: demo demo-stop test test-hbase test-cluster simulate torture fuzz bench build setup-test install uninstall deb audit

build:
	@mount-scripts/setup.sh $(BUILD_PACKAGES)
	cargo build --profile dist --locked

demo:
	@mount-scripts/setup.sh $(BUILD_PACKAGES)
	cargo build --release --locked
	@mount-scripts/demo.sh start $(DEMO)

demo-stop:
	@mount-scripts/demo.sh stop $(DEMO)

setup-test:
	@mount-scripts/setup.sh $(TEST_PACKAGES) \
	    $(if $(shell command -v javac),,openjdk-17-jdk-headless) $(if $(shell command -v mvn),,maven)
	@cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
	@tests/posix/tools.sh target/tools

test: setup-test
	cargo fmt --check
	@cargo metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null
	cargo clippy --release --locked --all-targets -- -D warnings
	env -u RUST_LOG cargo test --release --locked --no-fail-fast
	SECONDS_EACH=$${FUZZ_SECONDS:-20} fuzz/run.sh
	RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --no-deps --document-private-items

# Everything that reads bytes from outside, for SECONDS_EACH seconds each (an hour).
fuzz: setup-test
	SECONDS_EACH=$${SECONDS_EACH:-3600} fuzz/run.sh

# Random histories, from a fresh seed each time, on the store and on HBase's own code: every answer is compared.
test-hbase: setup-test
	CELLFS_HBASE_SEED=$$(date +%s) CELLFS_HBASE_HISTORIES=$${CELLFS_HBASE_HISTORIES:-500} \
	    cargo test --release --locked --test integration -- --nocapture histories_agree_with_hbase

# The client, mounts and commands on a real HBase, which is fetched and started for it: what `make test` does in short.
test-cluster: setup-test
	CELLFS_CLUSTER_ROUNDS=$${CELLFS_CLUSTER_ROUNDS:-3} CELLFS_CLUSTER_CASES=$${CELLFS_CLUSTER_CASES:-1000} \
	    cargo test --release --locked --test integration -- --nocapture cluster::

# Everything that a store does, interleaved by fresh seeds, for SECONDS_EACH seconds on disks that are healthy, small,
# fail or decay. A failure prints its seed: CELLFS_SEED=N RUST_LOG=trace shows every call of it.
SECONDS_EACH = 600
simulate:
	CELLFS_SECONDS=$(SECONDS_EACH) CELLFS_SEED=$${CELLFS_SEED:-$$(date +%s)000000} RUST_LOG=$${RUST_LOG:-off} \
	    cargo test --release --locked --lib -- --nocapture store::tests::concurrent::no_interleaving

# Kills, power cuts, damage, full disks and failing calls in great numbers: about an hour on two processors. Each rig
# prints what it tried, what was lost and what was wrong. CELLFS_POWER_CUTS is for each of ext4 and XFS. Whether all of it
# works is told in minutes by
#   make torture SECONDS_EACH=30 CELLFS_TORTURE=short CELLFS_KILLS=12 CELLFS_POWER_CUTS=30 CELLFS_SERVICE_KILLS=5 \
#       CELLFS_SERVICE_CELLS=30000 CELLFS_FULL_DISKS=4 CELLFS_RACES=10
torture: setup-test
	@mount-scripts/setup.sh xfsprogs e2fsprogs strace python3
	@$(MAKE) --no-print-directory simulate
	CELLFS_TORTURE=$${CELLFS_TORTURE:-full} cargo test --release --locked --lib -- --nocapture --include-ignored \
	    store::tests::damage store::tests::decay store::tests::torture store::tests::concurrent::every_rule_that_is_broken
	CELLFS_TORTURE=$${CELLFS_TORTURE:-full} CELLFS_KILLS=$${CELLFS_KILLS:-3000} CELLFS_POWER_CUTS=$${CELLFS_POWER_CUTS:-2500} \
	    CELLFS_SERVICE_KILLS=$${CELLFS_SERVICE_KILLS:-100} CELLFS_SERVICE_CELLS=$${CELLFS_SERVICE_CELLS:-1000000} \
	    CELLFS_FULL_DISKS=$${CELLFS_FULL_DISKS:-200} CELLFS_RACES=$${CELLFS_RACES:-500} \
	    cargo test --release --locked --test integration -- --nocapture torture:: full_disk races sync_that

# The store: random bytes, text, large values, many cells. RocksDB is measured too where its library can be installed.
bench: setup-test
	@mount-scripts/setup.sh librocksdb7.8 || true
	cargo bench --locked --bench floor
	cargo bench --locked --bench store
	CELLFS_BENCH_TEXT=1 cargo bench --locked --bench store
	CELLFS_BENCH_VALUE=4096 CELLFS_BENCH_CELLS=100000 cargo bench --locked --bench store
	CELLFS_BENCH_CELLS=10000000 CELLFS_BENCH_ROUNDS=1 cargo bench --locked --bench store
	cargo bench --locked --bench parts
	cargo bench --locked --bench index
	cargo bench --locked --bench bulk

UNITS = cellfs@.service cellfs-backup@.service cellfs-backup@.timer
PAGES = $(notdir $(wildcard man/*.[1-9]))
# All that `install` puts somewhere and `uninstall` removes.
INSTALLED = $(BINDIR)/cellfs \
    $(addprefix $(SBINDIR)/,mount.cellfs umount.cellfs mount.fuse.cellfs umount.fuse.cellfs) \
    $(LIBDIR)/cellfs/backup $(LIBDIR)/cellfs/restore $(addprefix $(LIBDIR)/systemd/system/,$(UNITS)) \
    $(LIBDIR)/sysusers.d/cellfs.conf $(LIBDIR)/tmpfiles.d/cellfs.conf $(SYSCONFDIR)/logrotate.d/cellfs \
    $(SHAREDIR)/bash-completion/completions/cellfs $(ZSHDIR)/_cellfs $(SHAREDIR)/fish/vendor_completions.d/cellfs.fish \
    $(SHAREDIR)/doc/cellfs/examples/srv-cellfs-demo.mount $(SHAREDIR)/doc/cellfs/README.md \
    $(foreach page,$(PAGES),$(SHAREDIR)/man/man$(subst .,,$(suffix $(page)))/$(page).gz)

# What a package holds; the program must have been built.
install:
	@test -x $(CELLFS) || { echo "build first: make build" >&2; exit 1; }
	install -D -m 0755 $(CELLFS) $(DESTDIR)$(BINDIR)/cellfs
	install -d $(DESTDIR)$(SBINDIR)
	for helper in mount.cellfs umount.cellfs; do \
	    sed 's|:/usr/local/bin$$|:/usr/local/bin:$(BINDIR)|' mount-scripts/$$helper >$(DESTDIR)$(SBINDIR)/$$helper && \
	    chmod 0755 $(DESTDIR)$(SBINDIR)/$$helper || exit 1; done
	ln -sf mount.cellfs $(DESTDIR)$(SBINDIR)/mount.fuse.cellfs
	ln -sf umount.cellfs $(DESTDIR)$(SBINDIR)/umount.fuse.cellfs
	install -D -m 0755 mount-scripts/backup.sh $(DESTDIR)$(LIBDIR)/cellfs/backup
	install -D -m 0755 mount-scripts/restore.sh $(DESTDIR)$(LIBDIR)/cellfs/restore
	install -d $(DESTDIR)$(LIBDIR)/systemd/system
	for unit in cellfs@.service cellfs-backup@.service cellfs-backup@.timer; do \
	    sed -e 's|@BINDIR@|$(BINDIR)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' packaging/systemd/$$unit \
	        >$(DESTDIR)$(LIBDIR)/systemd/system/$$unit && \
	    chmod 0644 $(DESTDIR)$(LIBDIR)/systemd/system/$$unit || exit 1; done
	install -D -m 0644 packaging/systemd/sysusers.conf $(DESTDIR)$(LIBDIR)/sysusers.d/cellfs.conf
	install -D -m 0644 packaging/systemd/tmpfiles.conf $(DESTDIR)$(LIBDIR)/tmpfiles.d/cellfs.conf
	install -D -m 0644 packaging/logrotate/cellfs $(DESTDIR)$(SYSCONFDIR)/logrotate.d/cellfs
	install -d $(DESTDIR)$(SHAREDIR)/bash-completion/completions $(DESTDIR)$(ZSHDIR) \
	    $(DESTDIR)$(SHAREDIR)/fish/vendor_completions.d
	packaging/completions/whole.sh bash >$(DESTDIR)$(SHAREDIR)/bash-completion/completions/cellfs
	packaging/completions/whole.sh zsh >$(DESTDIR)$(ZSHDIR)/_cellfs
	packaging/completions/whole.sh fish >$(DESTDIR)$(SHAREDIR)/fish/vendor_completions.d/cellfs.fish
	chmod 0644 $(DESTDIR)$(SHAREDIR)/bash-completion/completions/cellfs $(DESTDIR)$(ZSHDIR)/_cellfs \
	    $(DESTDIR)$(SHAREDIR)/fish/vendor_completions.d/cellfs.fish
	install -D -m 0644 packaging/systemd/srv-cellfs-demo.mount \
	    $(DESTDIR)$(SHAREDIR)/doc/cellfs/examples/srv-cellfs-demo.mount
	install -D -m 0644 README.md $(DESTDIR)$(SHAREDIR)/doc/cellfs/README.md
	for page in man/*.[1-9]; do \
	    directory=$(DESTDIR)$(SHAREDIR)/man/man$${page##*.}; mkdir -p $$directory && \
	    gzip -9nc $$page >$$directory/$${page##*/}.gz || exit 1; done
	@test -n "$(DESTDIR)" || printf '%s\n' 'For cellfs@.service, as root:' \
	    '  systemd-sysusers $(LIBDIR)/sysusers.d/cellfs.conf     # the user cellfs' \
	    '  systemd-tmpfiles --create $(LIBDIR)/tmpfiles.d/cellfs.conf' \
	    '  systemctl daemon-reload'

# Stores, the user cellfs and what it owns stay; a configuration file goes too.
uninstall:
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	@for directory in $(LIBDIR)/cellfs $(SHAREDIR)/doc/cellfs/examples $(SHAREDIR)/doc/cellfs; do \
	    test ! -d "$(DESTDIR)$$directory" || rmdir --ignore-fail-on-non-empty "$(DESTDIR)$$directory"; done

deb: build
	@packaging/debian/build.sh $(VERSION) $(DEB)
	@echo $(DEB)

audit:
	@packaging/audit.sh
