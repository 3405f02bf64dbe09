//! Expressions with look-around, atomic groups and back references.
//!
//! `look_around` reads an expression; this module makes a program of it and runs that at each place of
//! a text. The program tries one way after the other and goes back where one fails, so that a match can
//! take exponential time. The steps of a text are counted; beyond a number that grows with its length,
//! the text has no result, but an error.
//!
//! A group that is decided once (look-around, an atomic group) puts a mark on the stack of untried ways.
//! At its end, everything above the mark is dropped, so that nothing in it is tried again.
//!
//! # Look-ahead
//!
//! Groups of digits from the right, such as `\d{1,3}(?=(?:\d{3})*\b)`, look from each place to the end of a run.
//! Whether the rest of a look-ahead matches from a place on depends on the place and on what is left of the
//! look-ahead alone, if the expression has no back references. So the outcome is kept for each place at which a
//! loop of a look-ahead was ([`Outcomes`]), and each such place is decided once in a text: all look-aheads
//! together take time that is linear in it.
//!
//! Where a loop is at a place of unknown outcome, it puts a note on the stack of untried ways. If the note is
//! taken from the stack, all ways from the place have failed. If the end of the look-ahead is reached while the
//! note is on the stack, the way at hand came through the place, which thus leads to the end.
//!
//! Example: `a(?!b)` is `a`, *group with the way out*, `b`, *end of a negative group*, *match*. In `ac`, `b`
//! fails, and the way out is the next one that is tried; in `ab`, the end of the group drops it and fails.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look, Repetition};

use super::general::single_class;
use super::look_around::{Construct, Length, LookAround};
use super::{PatternError, parts_of_matches};
use crate::base::steps;

/// Steps that every text may take.
const STEPS: usize = 1 << 26;
/// Further steps for each byte of a text.
const STEPS_PER_BYTE: usize = 1 << 10;
/// Untried ways that every text may have, and further ones for each byte.
const WAYS: usize = 1 << 16;
const WAYS_PER_BYTE: usize = 8;
/// Loops whose outcomes are kept: two bits for each of them and each byte of a text.
const MAX_LOOPS: usize = 32;
/// Steps of a program.
const MAX_PROGRAM: usize = 1 << 14;
/// Bytes of a compiled expression, classes included.
const MAX_COMPILED: usize = 4 << 20;

/// A step of a program.
#[derive(Debug)]
enum Step {
    Text(Box<str>),
    /// A character of a class.
    One(usize),
    /// Characters of a class.
    Several(CharRun),
    Look(Look),
    /// Goes on at the first, and at the second if that fails.
    Either(usize, usize),
    Jump(usize),
    /// At a loop of a look-ahead, by its number: goes on unless its outcome is known; `end` is the end of the
    /// look-ahead.
    Loop {
        number: usize,
        end: usize,
    },
    /// Keeps the place in a register.
    Keep(usize),
    /// Goes on if the place is another one than that in the register, and at `exit` if not: a loop ends
    /// with an empty round.
    UnlessEmpty {
        register: usize,
        exit: usize,
    },
    /// The text between the places of two registers.
    Again {
        begin: usize,
        end: usize,
    },
    /// Begins a group that is decided once.
    Group,
    /// Begins a negative one, with the way out.
    NegativeGroup(usize),
    EndAtomic,
    /// Ends the group at the place of its beginning.
    EndLook,
    EndNegative,
    /// Goes back by at least so many characters of a look-behind, whose match ends where it began.
    Back {
        least: usize,
        most: usize,
    },
    /// Whether the place is that at which the group began.
    AtGroup,
    /// Whether the place is that at which the search for the match began.
    AtSearchStart,
    Match,
}

/// Characters of a class: as many as possible, or as few.
#[derive(Debug)]
struct CharRun {
    class: usize,
    least: u32,
    most: u32,
    is_greedy: bool,
}

/// Where the program goes on: at a step, and at a place in the text.
#[derive(Debug, Clone, Copy)]
struct Position {
    step: usize,
    at: usize,
}

/// What is tried when a way fails.
#[derive(Debug)]
enum Way {
    Resume(Position),
    /// A greedy run that can give back characters.
    Shorten {
        step: usize,
        at: usize,
        least: usize,
    },
    /// A lazy run that can take more characters.
    Lengthen {
        step: usize,
        at: usize,
        class: usize,
        left: u32,
    },
    /// A look-behind that can begin further back.
    FurtherBack {
        step: usize,
        at: usize,
        left: usize,
    },
    Restore {
        register: usize,
        place: usize,
    },
    /// The beginning of a group.
    Mark {
        at: usize,
    },
    /// Nothing: all ways from a loop of a look-ahead at a place have failed.
    Loop {
        number: usize,
        at: usize,
    },
}

/// Whether the look-ahead matches from places at which its loops were; nothing is kept before there is one.
#[derive(Debug, Default)]
struct Outcomes {
    /// Two bits for each place, loop by loop: whether it fails, and whether it matches.
    bits: Vec<u64>,
}

impl Outcomes {
    const PLACES: usize = u64::BITS as usize / 2;

    fn get(&self, number: usize, at: usize, text: &str) -> Option<bool> {
        let place = number * (text.len() + 1) + at;
        let word = self.bits.get(place / Self::PLACES)?;
        match word >> (place % Self::PLACES * 2) & 3 {
            0 => None,
            outcome => Some(outcome == 2),
        }
    }

    fn set(&mut self, number: usize, at: usize, text: &str, matches: bool) {
        let place = number * (text.len() + 1) + at;
        let word = place / Self::PLACES;
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        let outcome = if matches { 2 } else { 1 };
        self.bits[word] |= outcome << (place % Self::PLACES * 2);
    }
}

/// The characters of a class.
#[derive(Debug)]
struct CharSet {
    ascii: u128,
    ranges: Box<[(char, char)]>,
}

impl CharSet {
    fn new(class: &ClassUnicode) -> Self {
        let ranges: Box<[(char, char)]> = class.iter().map(|it| (it.start(), it.end())).collect();
        let has = |c: char| {
            ranges
                .iter()
                .any(|(begin, end)| (*begin..=*end).contains(&c))
        };
        let ascii = (0..128_u8).filter(|byte| has(char::from(*byte)));
        Self {
            ascii: ascii.fold(0, |set, byte| set | 1 << byte),
            ranges,
        }
    }

    fn has(&self, c: char) -> bool {
        if c.is_ascii() {
            return self.ascii >> u32::from(c) & 1 == 1;
        }
        let after = self.ranges.partition_point(|(begin, _)| *begin <= c);
        after
            .checked_sub(1)
            .is_some_and(|at| c <= self.ranges[at].1)
    }
}

/// Why there is no program for an expression.
pub(super) enum Refusal {
    /// It has a construct that has a name.
    Construct(&'static str),
    /// It is malformed or too large, or has a construct that `look_around` does not read.
    Other,
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct BacktrackingMachine {
    steps: Vec<Step>,
    classes: Vec<CharSet>,
    registers: usize,
    /// Of look-aheads whose outcomes are kept.
    loops: usize,
    /// The bytes of texts and classes.
    bytes: usize,
}

impl BacktrackingMachine {
    pub(super) fn new(expression: &str) -> Result<Self, Refusal> {
        let read = LookAround::of(expression).ok_or(Refusal::Other)?;
        // Oniguruma searches from the place of an empty match again, and `\G` then is there.
        if LookAround::has_search_start(&read.hir) && read.length(&read.hir).least == 0 {
            return Err(Refusal::Construct("position of the last match"));
        }
        let mut compiler = Compiler {
            read: &read,
            machine: Self {
                steps: Vec::new(),
                classes: Vec::new(),
                registers: 2 * read.groups(),
                loops: 0,
                bytes: 0,
            },
            open: Vec::new(),
            keeps_outcomes: !read.has_back_references(),
            is_in_look_ahead: false,
        };
        compiler.add(&read.hir)?;
        compiler.push(Step::Match)?;
        Ok(compiler.machine)
    }

    /// The bytes of the program.
    pub(super) fn memory_usage(&self) -> usize {
        self.bytes + self.steps.len() * size_of::<Step>()
    }

    /// Passes the parts of a text, with whether they are matches.
    pub(super) fn for_each(
        &self,
        text: &str,
        on_part: &mut dyn FnMut(usize, usize, bool),
    ) -> Result<(), PatternError> {
        let mut search = MatchSearch {
            machine: self,
            text,
            ways: Vec::new(),
            registers: vec![usize::MAX; self.registers],
            outcomes: Outcomes::default(),
            search_start: 0,
            steps: STEPS.saturating_add(text.len().saturating_mul(STEPS_PER_BYTE)),
            max_ways: WAYS.saturating_add(text.len().saturating_mul(WAYS_PER_BYTE)),
        };
        let find = |from: usize| {
            let mut at = from;
            search.search_start = from;
            loop {
                if let Some(end) = search.match_at(at)? {
                    return Ok(Some(at..end));
                }
                match text[at..].chars().next() {
                    Some(c) => at += c.len_utf8(),
                    None => return Ok(None),
                }
            }
        };
        parts_of_matches(text.as_bytes(), false, find, on_part)
    }
}

struct Compiler<'e> {
    read: &'e LookAround,
    machine: BacktrackingMachine,
    /// The groups around the part at hand.
    open: Vec<usize>,
    /// Whether the outcome of a look-ahead depends on the place alone.
    keeps_outcomes: bool,
    /// Whether the part at hand is in a look-ahead, in no other group in it that is decided once, and in no
    /// loop in it that an empty round ends.
    is_in_look_ahead: bool,
}

impl Compiler<'_> {
    /// Adds a step, and returns its number.
    fn push(&mut self, step: Step) -> Result<usize, Refusal> {
        let number = self.machine.steps.len();
        if let Step::Text(text) = &step {
            self.machine.bytes += text.len();
        }
        self.machine.steps.push(step);
        match number < MAX_PROGRAM && self.machine.bytes <= MAX_COMPILED {
            true => Ok(number),
            false => Err(Refusal::Other),
        }
    }

    fn here(&self) -> usize {
        self.machine.steps.len()
    }

    fn class(&mut self, class: &ClassUnicode) -> usize {
        self.machine.bytes += size_of_val(class.ranges());
        self.machine.classes.push(CharSet::new(class));
        self.machine.classes.len() - 1
    }

    fn register(&mut self) -> usize {
        self.machine.registers += 1;
        self.machine.registers - 1
    }

    fn add(&mut self, hir: &Hir) -> Result<(), Refusal> {
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).map_err(|_| Refusal::Other)?;
                self.push(Step::Text(text.into()))?;
            }
            HirKind::Class(Class::Unicode(class)) => {
                let class = self.class(class);
                self.push(Step::One(class))?;
            }
            HirKind::Class(Class::Bytes(_)) => return Err(Refusal::Other),
            HirKind::Look(look @ (Look::Start | Look::End | Look::StartLF | Look::EndLF)) => {
                self.push(Step::Look(*look))?;
            }
            HirKind::Look(_) => return Err(Refusal::Other),
            HirKind::Repetition(repetition) => self.add_repetition(repetition)?,
            HirKind::Capture(capture) => {
                match self.read.construct(capture).ok_or(Refusal::Other)? {
                    Construct::Group(number) => {
                        self.push(Step::Keep(2 * number))?;
                        self.open.push(number);
                        self.add(&capture.sub)?;
                        self.open.pop();
                        self.push(Step::Keep(2 * number + 1))?;
                    }
                    // What it refers to depends on how Oniguruma repeats the group.
                    Construct::Again(number) if self.open.contains(&number) => {
                        return Err(Refusal::Construct("back reference in its own group"));
                    }
                    Construct::Again(number) => {
                        let (begin, end) = (2 * number, 2 * number + 1);
                        self.push(Step::Again { begin, end })?;
                    }
                    Construct::Atomic => {
                        self.push(Step::Group)?;
                        let was = std::mem::replace(&mut self.is_in_look_ahead, false);
                        self.add(&capture.sub)?;
                        self.is_in_look_ahead = was;
                        self.push(Step::EndAtomic)?;
                    }
                    Construct::SearchStart => {
                        self.push(Step::AtSearchStart)?;
                    }
                    Construct::Look {
                        is_behind,
                        is_negative,
                    } => {
                        let begin = self.push(match is_negative {
                            true => Step::NegativeGroup(0),
                            false => Step::Group,
                        })?;
                        if is_behind {
                            let Length { least, most } = self.read.length(&capture.sub);
                            self.push(Step::Back { least, most })?;
                        }
                        let keeps = self.keeps_outcomes
                            && !is_behind
                            && !LookAround::has_search_start(&capture.sub);
                        let was = std::mem::replace(&mut self.is_in_look_ahead, keeps);
                        self.add(&capture.sub)?;
                        self.is_in_look_ahead = was;
                        if is_behind {
                            self.push(Step::AtGroup)?;
                        }
                        let end = self.push(match is_negative {
                            true => Step::EndNegative,
                            false => Step::EndLook,
                        })?;
                        if is_negative {
                            self.machine.steps[begin] = Step::NegativeGroup(end + 1);
                        }
                        // Loops of look-aheads within this one have their end already.
                        for step in &mut self.machine.steps[begin..] {
                            match step {
                                Step::Loop { end: to, .. } if *to == 0 => *to = end,
                                _ => {}
                            }
                        }
                    }
                }
            }
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.add(part))?,
            HirKind::Alternation(alternatives) => {
                let (last, others) = alternatives.split_last().ok_or(Refusal::Other)?;
                let mut jumps = Vec::new();
                for alternative in others {
                    let choice = self.push(Step::Either(0, 0))?;
                    self.add(alternative)?;
                    jumps.push(self.push(Step::Jump(0))?);
                    self.machine.steps[choice] = Step::Either(choice + 1, self.here());
                }
                self.add(last)?;
                for jump in jumps {
                    self.machine.steps[jump] = Step::Jump(self.here());
                }
            }
        }
        Ok(())
    }

    fn add_repetition(&mut self, repetition: &Repetition) -> Result<(), Refusal> {
        let Repetition {
            min,
            max,
            greedy,
            sub,
        } = repetition;
        // The outcome of a look-ahead is kept for places between the rounds of a loop, so that a run of
        // characters that is looked through again and again has to be one.
        let keeps = max.is_none() && self.is_in_look_ahead && self.machine.loops < MAX_LOOPS;
        let class = single_class(sub);
        if let Some(class) = &class {
            let class = self.class(class);
            let most = if keeps { *min } else { max.unwrap_or(u32::MAX) };
            self.push(Step::Several(CharRun {
                class,
                least: *min,
                most,
                is_greedy: *greedy,
            }))?;
            if !keeps {
                return Ok(());
            }
        }
        // Whether Oniguruma goes on after an empty round depends on how long the body is for it.
        if (*min).max(max.unwrap_or(0)) > 1 && self.read.length(sub).least == 0 {
            return Err(Refusal::Construct("repetition of what can be empty"));
        }
        let either = |inner: usize, outer: usize| match greedy {
            true => Step::Either(inner, outer),
            false => Step::Either(outer, inner),
        };
        if class.is_none() {
            (0..*min).try_for_each(|_| self.add(sub))?;
        }
        match max {
            None if self.read.length(sub).least > 0 => {
                let number = self.machine.loops;
                let head = self.here();
                if keeps {
                    self.machine.loops += 1;
                    // The end is not known yet.
                    self.push(Step::Loop { number, end: 0 })?;
                }
                let choice = self.push(Step::Jump(0))?;
                self.add(sub)?;
                self.push(Step::Jump(head))?;
                self.machine.steps[choice] = either(choice + 1, self.here());
            }
            None => {
                let was = std::mem::replace(&mut self.is_in_look_ahead, false);
                let register = self.register();
                let choice = self.push(Step::Jump(0))?;
                self.push(Step::Keep(register))?;
                self.add(sub)?;
                let exit = self.here() + 2;
                self.push(Step::UnlessEmpty { register, exit })?;
                self.push(Step::Jump(choice))?;
                self.machine.steps[choice] = either(choice + 1, exit);
                self.is_in_look_ahead = was;
            }
            Some(max) => {
                let mut choices = Vec::new();
                for _ in *min..*max {
                    choices.push(self.push(Step::Jump(0))?);
                    self.add(sub)?;
                }
                let exit = self.here();
                for choice in choices {
                    self.machine.steps[choice] = either(choice + 1, exit);
                }
            }
        }
        Ok(())
    }
}

/// A program on its way through a text.
struct MatchSearch<'m> {
    machine: &'m BacktrackingMachine,
    text: &'m str,
    /// The last one is tried first.
    ways: Vec<Way>,
    registers: Vec<usize>,
    outcomes: Outcomes,
    /// Where the search for the match at hand began: at the end of the match before.
    search_start: usize,
    /// The steps that are left.
    steps: usize,
    max_ways: usize,
}

impl MatchSearch<'_> {
    /// The end of the match that begins at a place.
    fn match_at(&mut self, start: usize) -> Result<Option<usize>, PatternError> {
        self.ways.clear();
        self.registers.fill(usize::MAX);
        let machine = self.machine;
        let mut now = Position { step: 0, at: start };
        loop {
            self.spend(1)?;
            let Position { step, at } = now;
            // Where the next step begins; `None` if this one fails.
            let next = match &machine.steps[step] {
                Step::Match => return Ok(Some(at)),
                Step::Text(text) => self.end_of(text, at),
                Step::One(class) => {
                    let c = self.char_at(at).filter(|c| machine.classes[*class].has(*c));
                    c.map(|c| at + c.len_utf8())
                }
                Step::Several(run) => self.begin_run(run, now)?,
                Step::Look(look) => self.looks(*look, at).then_some(at),
                Step::Either(first, second) => {
                    let step = *second;
                    self.ways.push(Way::Resume(Position { step, at }));
                    now.step = *first;
                    continue;
                }
                Step::Jump(to) => {
                    now.step = *to;
                    continue;
                }
                Step::Loop { number, end } => match self.outcomes.get(*number, at, self.text) {
                    None => {
                        self.ways.push(Way::Loop {
                            number: *number,
                            at,
                        });
                        Some(at)
                    }
                    Some(true) => {
                        now.step = *end;
                        continue;
                    }
                    Some(false) => None,
                },
                Step::Keep(register) => {
                    let (register, place) = (*register, self.registers[*register]);
                    self.ways.push(Way::Restore { register, place });
                    self.registers[register] = at;
                    Some(at)
                }
                Step::UnlessEmpty { register, exit } => {
                    if self.registers[*register] == at {
                        now.step = *exit;
                        continue;
                    }
                    Some(at)
                }
                Step::Again { begin, end } => {
                    let text = self.text;
                    let again = text.get(self.registers[*begin]..self.registers[*end]);
                    again.and_then(|again| self.end_of(again, at))
                }
                Step::Group => {
                    self.ways.push(Way::Mark { at });
                    Some(at)
                }
                Step::NegativeGroup(out) => {
                    let step = *out;
                    self.ways.push(Way::Resume(Position { step, at }));
                    self.ways.push(Way::Mark { at });
                    Some(at)
                }
                Step::EndAtomic => {
                    self.close_group();
                    Some(at)
                }
                Step::EndLook => self.close_group(),
                Step::EndNegative => {
                    self.close_negative_group();
                    None
                }
                Step::Back { least, most } => self.go_back(*least, *most, now)?,
                Step::AtSearchStart => (self.search_start == at).then_some(at),
                Step::AtGroup => (self.group_begin() == Some(at)).then_some(at),
            };
            now = match next {
                Some(at) => Position { step: step + 1, at },
                None => match self.next_way()? {
                    Some(position) => position,
                    None => return Ok(None),
                },
            };
        }
    }

    /// The end of a text that is at a place.
    fn end_of(&self, text: &str, at: usize) -> Option<usize> {
        self.text[at..].starts_with(text).then(|| at + text.len())
    }

    /// Takes the characters of a run that begins here; returns its end.
    fn begin_run(&mut self, run: &CharRun, now: Position) -> Result<Option<usize>, PatternError> {
        let class = &self.machine.classes[run.class];
        let step = now.step + 1;
        let mut chars = self.text[now.at..].chars();
        let mut least_end = now.at;
        for _ in 0..run.least {
            match chars.next().filter(|c| class.has(*c)) {
                Some(c) => least_end += c.len_utf8(),
                None => {
                    self.spend(least_end - now.at)?;
                    return Ok(None);
                }
            }
        }
        let more = run.most - run.least;
        if !run.is_greedy {
            self.spend(least_end - now.at)?;
            self.ways.push(Way::Lengthen {
                step,
                at: least_end,
                class: run.class,
                left: more,
            });
            return Ok(Some(least_end));
        }
        let more = chars.take(usize::try_from(more).unwrap_or(usize::MAX));
        let taken = more.take_while(|c| class.has(*c));
        let end = least_end + taken.map(char::len_utf8).sum::<usize>();
        self.spend(end - now.at)?;
        if end > least_end {
            self.ways.push(Way::Shorten {
                step,
                at: end,
                least: least_end,
            });
        }
        Ok(Some(end))
    }

    /// Goes back by the least number of characters of a look-behind; returns where it begins.
    fn go_back(
        &mut self,
        least: usize,
        most: usize,
        now: Position,
    ) -> Result<Option<usize>, PatternError> {
        self.spend(least)?;
        let mut begin = now.at;
        for _ in 0..least {
            match self.before(begin) {
                Some(before) => begin = before,
                None => return Ok(None),
            }
        }
        self.ways.push(Way::FurtherBack {
            step: now.step + 1,
            at: begin,
            left: most.saturating_sub(least),
        });
        Ok(Some(begin))
    }

    fn spend(&mut self, steps: usize) -> Result<(), PatternError> {
        steps::count(steps);
        let left = self.steps.checked_sub(steps);
        match left.filter(|_| self.ways.len() <= self.max_ways) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => Err(PatternError::TooManySteps {
                limit: STEPS.saturating_add(self.text.len().saturating_mul(STEPS_PER_BYTE)),
            }),
        }
    }

    fn char_at(&self, at: usize) -> Option<char> {
        self.text[at..].chars().next()
    }

    /// The place one character before.
    fn before(&self, at: usize) -> Option<usize> {
        let last = self.text[..at].chars().next_back()?;
        Some(at - last.len_utf8())
    }

    /// Whether the text is as an assertion says. After a line feed at its end, a text has no line for
    /// Oniguruma.
    fn looks(&self, look: Look, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        match look {
            Look::Start => at == 0,
            Look::StartLF => at == 0 || bytes[at - 1] == b'\n' && at < bytes.len(),
            Look::EndLF => bytes.get(at).is_none_or(|byte| *byte == b'\n'),
            _ => at == bytes.len(),
        }
    }

    /// The place at which the innermost group began.
    fn group_begin(&self) -> Option<usize> {
        let mut ways = self.ways.iter().rev();
        ways.find_map(|way| match way {
            Way::Mark { at } => Some(*at),
            _ => None,
        })
    }

    /// Drops the ways of the innermost group, but what its registers were before; returns where it
    /// began.
    fn close_group(&mut self) -> Option<usize> {
        let is_mark = |way: &Way| matches!(way, Way::Mark { .. });
        let number = self.ways.iter().rposition(is_mark)?;
        let mut kept = number;
        let begin = match self.ways[number] {
            Way::Mark { at } => at,
            _ => return None,
        };
        for other in number + 1..self.ways.len() {
            match self.ways[other] {
                Way::Restore { .. } => {
                    self.ways.swap(kept, other);
                    kept += 1;
                }
                Way::Loop { number, at } => self.outcomes.set(number, at, self.text, true),
                _ => {}
            }
        }
        self.ways.truncate(kept);
        Some(begin)
    }

    /// Drops the ways of the innermost group and its way out.
    fn close_negative_group(&mut self) {
        while let Some(way) = self.ways.pop() {
            match way {
                Way::Restore { register, place } => self.registers[register] = place,
                Way::Loop { number, at } => self.outcomes.set(number, at, self.text, true),
                Way::Mark { .. } => break,
                _ => {}
            }
        }
        self.ways.pop();
    }

    /// Where the next way goes on.
    fn next_way(&mut self) -> Result<Option<Position>, PatternError> {
        while let Some(way) = self.ways.pop() {
            self.spend(1)?;
            match way {
                Way::Mark { .. } => {}
                Way::Loop { number, at } => self.outcomes.set(number, at, self.text, false),
                Way::Restore { register, place } => self.registers[register] = place,
                Way::Resume(position) => return Ok(Some(position)),
                Way::Shorten { step, at, least } => {
                    let Some(at) = self.before(at) else { continue };
                    if at > least {
                        self.ways.push(Way::Shorten { step, at, least });
                    }
                    return Ok(Some(Position { step, at }));
                }
                Way::Lengthen {
                    step,
                    at,
                    class,
                    left,
                } => {
                    let c = self.char_at(at);
                    let c = c.filter(|c| left > 0 && self.machine.classes[class].has(*c));
                    let Some(c) = c else { continue };
                    let at = at + c.len_utf8();
                    let left = left - 1;
                    self.ways.push(Way::Lengthen {
                        step,
                        at,
                        class,
                        left,
                    });
                    return Ok(Some(Position { step, at }));
                }
                Way::FurtherBack { step, at, left } => {
                    let before = self.before(at).filter(|_| left > 0);
                    let Some(at) = before else { continue };
                    let left = left - 1;
                    self.ways.push(Way::FurtherBack { step, at, left });
                    return Ok(Some(Position { step, at }));
                }
            }
        }
        Ok(None)
    }
}
