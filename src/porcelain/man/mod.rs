//! The manual: which pages there are, what each is about, and how it is made.
//!
//! A page is prose (the `.txt` files here) with what the command line parser knows put in. The
//! finished pages stand in man/, where packagers look for them, and are in the program too, for
//! `auwai help`. `tests/man.rs` holds the ones to the others.

mod records;

use clap::{Command, CommandFactory};

use super::Auwai;
use crate::cli::man::{self, Block, Head};
use crate::plumbing::inbox::Inbox;
use crate::plumbing::ledger::Ledger;
use crate::plumbing::plan::PlanTool;
use crate::plumbing::relay::Relay;
use crate::plumbing::wait_events::WaitEvents;

/// The date of this release.
const RELEASED: &str = "2026-11-30";

/// What several pages say in the same words.
const EXIT_STATUS: &str = include_str!("exit-status.txt");

/// A page of the manual.
pub struct Page {
    /// Its name, without the section.
    pub name: &'static str,
    /// Its section.
    pub section: u8,
    /// What it is about, in a line.
    pub summary: &'static str,
    /// What it says beside what the commands say themselves.
    pub prose: &'static str,
    /// The page as it stands in man/.
    pub text: &'static str,
    /// The commands of `auwai` that it describes.
    pub commands: &'static [&'static str],
}

macro_rules! page {
    ($name:literal $section:literal, $summary:literal, $commands:expr) => {
        Page {
            name: $name,
            section: $section,
            summary: $summary,
            prose: include_str!(concat!($name, ".", $section, ".txt")),
            text: include_str!(concat!("../../../man/", $name, ".", $section)),
            commands: &$commands,
        }
    };
}

/// Every page, in the order in which to read them.
pub const PAGES: &[Page] = &[
    page!("auwai" 1, "read whole repositories, a context window at a time, and prove it", ["help"]),
    page!("auwai-index" 1, "bring the index up to date, and say what becomes of a path", ["index", "watch", "why"]),
    page!("auwai-fullread" 1, "plan a full read, work through it, and verify it",
        ["plan", "next", "read", "done", "status", "verify", "unread", "replan", "run", "log", "waive"]),
    page!("auwai-workspace" 1, "several repositories read as one", ["workspace"]),
    page!("auwai-ledger" 1, "the index and the ledgers: what there is to read, and what is read", []),
    page!("auwai-plan" 1, "pack chunks into segments that fit a context window", []),
    page!("auwai-relay" 1, "keep lines whole, and their writer from waiting", []),
    page!("auwai-wait-events" 1, "tell what changes below a directory, as it happens", []),
    page!("auwai-inbox" 1, "tasks and answers of several readers, as plain files", []),
    page!("auwai-records" 5, "the records that the tools of auwai exchange", []),
    page!("auwai-workspace" 7, "what auwai promises, and the words it uses", []),
    Page {
        name: "auwai-watching",
        section: 7,
        summary: "what watching promises, what it cannot, and recipes",
        prose: include_str!("../../../docs/watching.md"),
        text: include_str!("../../../man/auwai-watching.7"),
        commands: &[],
    },
];

/// Where a guide leads to.
const GUIDE_SEE_ALSO: &str =
    "# SEE ALSO\nauwai(1), auwai-index(1), auwai-ledger(1), auwai-wait-events(1), auwai-records(5)";

impl Page {
    /// The page's file in man/.
    pub fn file(&self) -> String {
        format!("{}.{}", self.name, self.section)
    }

    /// Whether its prose is a guide in docs/.
    pub fn is_guide(&self) -> bool {
        self.name == "auwai-watching"
    }

    fn blocks(&self) -> Vec<Block> {
        match self.is_guide() {
            true => {
                let head = man::parse("# DESCRIPTION");
                [head, man::guide(self.prose), man::parse(GUIDE_SEE_ALSO)].concat()
            }
            false => man::parse(self.prose),
        }
    }

    /// Makes the page anew.
    pub fn make(&self) -> String {
        let blocks = self.blocks().into_iter().flat_map(|block| match block {
            Block::Insert(what) => self.insert(&what),
            block => vec![block],
        });
        let Page { name, section, summary, .. } = *self;
        let head = Head { name, section, summary, released: RELEASED };
        man::page(&head, &blocks.collect::<Vec<_>>())
    }

    /// The commands it describes, as the parser has them.
    fn described(&self) -> Vec<Command> {
        match self.name {
            "auwai-inbox" => vec![inbox()],
            "auwai-ledger" => vec![ledger()],
            "auwai-plan" => vec![plan()],
            "auwai-relay" => vec![relay()],
            "auwai-wait-events" => vec![wait_events()],
            _ => {
                let auwai = auwai();
                self.commands
                    .iter()
                    .filter_map(|name| auwai.find_subcommand(name).cloned())
                    .collect()
            }
        }
    }

    fn insert(&self, what: &str) -> Vec<Block> {
        let described = self.described();
        let (path, general) = match self.name {
            "auwai-inbox" | "auwai-ledger" | "auwai-plan" | "auwai-relay" | "auwai-wait-events" => {
                ("", "")
            }
            _ => ("auwai", "general-options"),
        };
        match what {
            "synopsis" => described.iter().flat_map(|c| man::synopsis(c, path, general)).collect(),
            "verbs" => described.iter().flat_map(man::verbs).collect(),
            "options" => described.iter().flat_map(|c| man::options(c, false)).collect(),
            "general" => match self.name {
                "auwai-inbox" => man::options(&inbox(), true),
                "auwai-ledger" => man::options(&ledger(), true),
                _ => man::options(&auwai(), true),
            },
            "auwai-usage" => {
                let words = ["[_general-options_]", "_COMMAND_", "[_ARGUMENT_]..."];
                vec![Block::Usage("auwai".into(), words.map(String::from).to_vec())]
            }
            "overview" => overview(),
            "exit-status" => man::parse(EXIT_STATUS),
            "records" => records::blocks(),
            _ => vec![Block::Paragraph(format!("(nothing is known of @{what})"))],
        }
    }
}

/// The page for a command, a tool or a page's name, in any of the ways they are written.
pub fn find(topic: &str) -> Option<&'static Page> {
    let name = topic.to_ascii_lowercase().replace(['(', ')'], ".");
    let name = name.trim_end_matches('.');
    // A guide by its file.
    let name = name.rsplit('/').next().and_then(|file| file.strip_suffix(".md")).unwrap_or(name);
    let by_file = PAGES.iter().find(|page| page.file() == name);
    let by_command = || PAGES.iter().find(|page| page.commands.contains(&name));
    let by_name = || PAGES.iter().find(|page| page.name == name);
    let by_short = || {
        PAGES.iter().find(|page| {
            page.name
                .strip_prefix("auwai-")
                .is_some_and(|short| short == name || format!("{short}.{}", page.section) == name)
        })
    };
    by_file.or_else(by_command).or_else(by_name).or_else(by_short)
}

/// `auwai` with everything that a page needs to know.
pub fn auwai() -> Command {
    let mut auwai = Auwai::command();
    auwai.build();
    // Its verbs are those of `auwai` itself, and have their own page.
    auwai.mut_subcommand("workspace", |workspace| {
        workspace.mut_subcommand("fullread", |fullread| {
            let about = fullread.get_about().cloned().unwrap_or_default();
            Command::new("fullread").about(about).arg(
                clap::Arg::new("verb").value_name("VERB").required(true).help(
                    "`plan`, `next`, `read`, `done`, `status`, `verify`, `unread`, `replan`, \
                     `run`, `log` or `waive`, with its options: see auwai-fullread(1)",
                ),
            )
        })
    })
}

/// `auwai-inbox`, the same.
pub fn inbox() -> Command {
    built(Inbox::command())
}

/// `auwai-ledger`, the same.
pub fn ledger() -> Command {
    built(Ledger::command())
}

/// `auwai-plan`, the same.
pub fn plan() -> Command {
    built(PlanTool::command())
}

/// `auwai-relay`, the same.
pub fn relay() -> Command {
    built(Relay::command())
}

/// `auwai-wait-events`, the same.
pub fn wait_events() -> Command {
    built(WaitEvents::command())
}

fn built(mut command: Command) -> Command {
    command.build();
    command
}

/// An entry for each command of `auwai`, with the page that has more.
fn overview() -> Vec<Block> {
    let auwai = auwai();
    let commands = man::subcommands(&auwai).filter(|command| command.get_name() != "help");
    commands
        .map(|command| {
            let name = command.get_name();
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let page = find(name).map(|page| format!(" See {}({}).", page.name, page.section));
            let text = format!("{about}.{}", page.unwrap_or_default());
            Block::Entry(format!("`auwai {name}`"), vec![text])
        })
        .collect()
}
