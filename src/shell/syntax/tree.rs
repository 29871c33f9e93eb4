//! The tree of a statement of the shell's language. Knows no commands.

/// How two values are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    Different,
    Less,
    AtMost,
    More,
    AtLeast,
    /// `<=>`: -1, 0 or 1.
    Order,
}

/// What leaves a loop or a pass of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    Break,
    Next,
}

/// Statements that run if a condition holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    pub condition: Expression,
    pub body: Vec<Expression>,
}

/// A piece of a string literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// `#{...}`.
    Interpolated(Box<Expression>),
}

/// An argument of a call; pairs without braces end as one hash.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    Plain(Expression),
    Pair(Expression, Expression),
}

/// `{ |a, b| ... }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub parameters: Vec<String>,
    pub body: Vec<Expression>,
}

/// What is called on what.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub receiver: Option<Box<Expression>>,
    pub name: String,
    pub arguments: Vec<Argument>,
    pub block: Option<Block>,
    /// A bare word, which may also be a variable.
    pub bare: bool,
}

/// A literal, a name, a call, or what joins them.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Nil,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(Vec<Piece>),
    Symbol(String),
    Array(Vec<Argument>),
    Hash(Vec<(Expression, Expression)>),
    Range {
        first: Box<Expression>,
        last: Box<Expression>,
        /// `...`: without the last.
        exclusive: bool,
    },
    Joined(Operator, Box<Expression>, Box<Expression>),
    Negated(Box<Expression>),
    Compared(Comparison, Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Both(Box<Expression>, Box<Expression>),
    Either(Box<Expression>, Box<Expression>),
    /// The first arm that holds, else the statements after them.
    Branch(Vec<Arm>, Vec<Expression>),
    /// `while`.
    Repeat(Box<Arm>),
    /// `for NAMES in VALUE`.
    Walk(Block, Box<Expression>),
    Jump(Jump),
    Index(Box<Expression>, Box<Expression>),
    Constant(String),
    Assignment(String, Box<Expression>),
    /// `NAME[KEY] = VALUE`.
    Element(String, Box<Expression>, Box<Expression>),
    /// `NAME << VALUE << VALUE`.
    Append(String, Vec<Expression>),
    Call(Call),
}
