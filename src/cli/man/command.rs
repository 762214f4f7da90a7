//! What a page takes from a clap command: usage, verbs and options.

use clap::{Arg, ArgAction, Command};

use super::Block;

/// A usage for each of these commands, with all its own options; `path` is what stands before its
/// name. The options of every command are `general`, in words.
pub fn synopsis(command: &Command, path: &str, general: &str) -> Vec<Block> {
    let called = joined(path, command.get_name());
    let verbs: Vec<&Command> = subcommands(command).collect();
    if verbs.is_empty() {
        return vec![Block::Usage(called, words(command, general))];
    }
    verbs.into_iter().flat_map(|verb| synopsis(verb, &called, general)).collect()
}

/// A subsection for this command, or for each of its verbs: what it is for, and its options.
pub fn verbs(command: &Command) -> Vec<Block> {
    let below: Vec<Block> = subcommands(command).flat_map(verbs).collect();
    if !below.is_empty() {
        return below;
    }
    let mut blocks = vec![Block::Subsection(command.get_name().to_string())];
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = paragraphs(&about.map(ToString::to_string).unwrap_or_default());
    blocks.extend(about.into_iter().map(Block::Paragraph));
    blocks.extend(options(command, false));
    blocks
}

/// An entry for each option and argument: those of this command alone, or the general ones.
pub fn options(command: &Command, general: bool) -> Vec<Block> {
    let (own, positional): (Vec<&Arg>, Vec<&Arg>) =
        shown(command, general).partition(|arg| !arg.is_positional());
    positional.into_iter().chain(own).map(entry).collect()
}

/// The subcommands that do something of their own.
pub fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set())
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path} {name}") }
}

fn shown(command: &Command, general: bool) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(move |arg| {
        let own = !matches!(arg.get_id().as_str(), "help" | "version");
        own && !arg.is_hide_set() && arg.is_global_set() == general
    })
}

fn words(command: &Command, general: &str) -> Vec<String> {
    let (options, positional): (Vec<&Arg>, Vec<&Arg>) =
        shown(command, false).partition(|arg| !arg.is_positional());
    let general = (!general.is_empty()).then(|| format!("[_{general}_]"));
    let options = options.into_iter().map(option_word);
    general.into_iter().chain(options).chain(positional.into_iter().map(positional_word)).collect()
}

fn option_word(arg: &Arg) -> String {
    let word = match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("`--{long}`"),
        (None, Some(short)) => format!("`-{short}`"),
        (None, None) => String::new(),
    };
    let word = format!("{word}{}", values(arg));
    let many = if repeats(arg) { "..." } else { "" };
    if arg.is_required_set() { format!("{word}{many}") } else { format!("[{word}]{many}") }
}

fn positional_word(arg: &Arg) -> String {
    let (name, many) = (value_name(arg), if repeats(arg) { "..." } else { "" });
    match (arg.is_trailing_var_arg_set(), arg.is_required_set()) {
        (true, _) => format!("`--` _{name}_{many}"),
        (false, true) => format!("_{name}_{many}"),
        (false, false) => format!("[_{name}_]{many}"),
    }
}

fn repeats(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

fn value_name(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let name = names.first().map(ToString::to_string);
    name.unwrap_or_else(|| arg.get_id().as_str().to_uppercase())
}

fn values(arg: &Arg) -> String {
    if takes_value(arg) { format!(" _{}_", value_name(arg)) } else { String::new() }
}

fn entry(arg: &Arg) -> Block {
    let short = arg.get_short().map(|short| format!("`-{short}`{}", values(arg)));
    let long = arg.get_long().map(|long| format!("`--{long}`{}", values(arg)));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let term = if names.is_empty() { positional_word(arg) } else { names.join(", ") };
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let mut body = paragraphs(&help.map(ToString::to_string).unwrap_or_default());
    body.extend(choices(arg));
    body.extend(default(arg));
    Block::Entry(term, body)
}

/// Text with empty lines between paragraphs; each ends with a full stop.
fn paragraphs(text: &str) -> Vec<String> {
    let parts = text.split("\n\n").filter(|part| !part.trim().is_empty());
    parts.map(|part| sentence(&part.replace('\n', " "))).collect()
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', ':', '!', '?']) { text.to_string() } else { format!("{text}.") }
}

fn choices(arg: &Arg) -> Option<String> {
    let values = arg.get_possible_values();
    if !takes_value(arg) || values.is_empty() {
        return None;
    }
    let one = |value: &clap::builder::PossibleValue| match value.get_help() {
        Some(help) => format!("`{}` ({})", value.get_name(), lowered(&help.to_string())),
        None => format!("`{}`", value.get_name()),
    };
    let all = values.iter().map(one).collect::<Vec<_>>().join(", ");
    Some(format!("One of {all}."))
}

fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    first + chars.as_str()
}

fn default(arg: &Arg) -> Option<String> {
    let value = arg.get_default_values().first().filter(|_| takes_value(arg))?;
    Some(format!("The default is `{}`.", value.to_string_lossy()))
}
