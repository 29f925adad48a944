// Generates completion scripts for bash, zsh and fish from the tables of commands. A script starts skein
// only to complete the names of sessions, teams and roles.
import { shellQuote } from "../../kit/text/shell-quote.ts";
import type { Command, Flag } from "./command.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

export function completionScript(shell: Shell, commands: readonly Command[]): string {
  const entries = commands.flatMap((command) => [command.name, ...(command.aliases ?? [])].map((name) => ({ ...command, name })));
  return { bash, zsh, fish }[shell](entries);
}

const help: Flag = { name: "help", short: "h", summary: "show help" };

/** Value names of flags that take a file or a directory. */
const fileValues = new Set(["file", "directory", "path"]);

/** Lists of names by the value name of a flag. */
const listOfValue: Record<string, keyof typeof lists> = {
  session: "session",
  "name|id": "session",
  role: "role",
  roles: "roles",
  model: "model",
  agent: "agent",
};
const lists = {
  session: "skein list --names 2>/dev/null",
  team: "skein team list --names 2>/dev/null",
  role: "skein roles --names 2>/dev/null",
  model: "skein models --names 2>/dev/null",
  agent: "skein agents --names 2>/dev/null",
  /** Several roles, separated by commas. */
  roles: "skein roles --names 2>/dev/null",
};

function takesSession(command: Command): boolean {
  return /^[<[]session[>\]]/.test(command.usage);
}

function flagsOf(command: Command | undefined): Flag[] {
  return [...(command?.flags ?? []), help];
}

function spellings(flag: Flag): string[] {
  return flag.short ? [`--${flag.name}`, `-${flag.short}`] : [`--${flag.name}`];
}

function bash(commands: readonly Command[]): string {
  const commandNames = commands.map((command) => command.name).join(" ");
  const cases = commands.map((command) => `    ${command.name})\n${bashCommand(command)}\n      ;;`).join("\n");
  const runFlagNames = flagsOf(commands.find((command) => command.name === "run")).map((flag) => `--${flag.name}`);
  // `compgen -W` expands its words, so that a name with $(...) would run a command. Names are compared one by one instead.
  return `# bash completion for skein: source <(skein completions bash)
_skein_names() {
  local name
  while IFS= read -r name; do
    if [[ $name == "$1"* ]]; then COMPREPLY+=("$2$name"); fi
  done
}
_skein() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  local flags= verbs= choices= first= teamverbs= IFS=$' \\t\\n'
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 && $cur != -* ]]; then
    COMPREPLY=($(compgen -W "${commandNames} help" -- "$cur"))
    return
  fi
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "${runFlagNames.join(" ")} --version" -- "$cur"))
    return
  fi
  # The word break at "=" leaves --flag = value; look at the flag.
  if [[ $prev == "=" ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  if [[ $cur == "=" ]]; then cur=; fi
  if [[ $command == -* ]]; then command=run; fi
  case $command in
${cases}
    help) verbs="${commandNames}" ;;
  esac
  if [[ $choices == "<session>" || ( -z $choices && $cur != -* && -n $first && $COMP_CWORD -eq 2 ) ]]; then
    _skein_names "$cur" "" < <(${lists.session})
  elif [[ -z $choices && $cur != -* && $COMP_CWORD -eq 3 && " $teamverbs " == *" \${COMP_WORDS[2]} "* ]]; then
    _skein_names "$cur" "" < <(${lists.team})
  elif [[ $choices == "<role>" ]]; then
    _skein_names "$cur" "" < <(${lists.role})
  elif [[ $choices == "<model>" ]]; then
    _skein_names "$cur" "" < <(${lists.model})
  elif [[ $choices == "<agent>" ]]; then
    _skein_names "$cur" "" < <(${lists.agent})
  elif [[ $choices == "<roles>" ]]; then
    _skein_names "\${cur##*,}" "\${cur%"\${cur##*,}"}" < <(${lists.roles})
  elif [[ $choices == "<file>" ]]; then
    COMPREPLY=($(compgen -f -- "$cur"))
  elif [[ $choices == "<value>" ]]; then
    COMPREPLY=()
  elif [[ -n $choices ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$cur"))
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ $COMP_CWORD -eq 2 && -n $verbs ]]; then
    COMPREPLY=($(compgen -W "$verbs" -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _skein skein
`;
}

function bashCommand(command: Command): string {
  const values = command.flags
    .filter((flag) => flag.value !== undefined)
    .map((flag) => {
      const choices = flag.choices?.join(" ") ?? bashOffer(flag.value as string);
      return `        ${spellings(flag).join("|")}) choices="${choices}" ;;`;
    });
  const flags = flagsOf(command).map((flag) => `--${flag.name}`);
  const choices = values.length > 0 ? `\n      case $prev in\n${values.join("\n")}\n      esac` : "";
  const first = takesSession(command) ? " first=session" : "";
  const teams = command.teamVerbs ? ` teamverbs="${command.teamVerbs.join(" ")}"` : "";
  return `      flags="${flags.join(" ")}" verbs="${command.verbs?.join(" ") ?? ""}"${first}${teams}${choices}`;
}

function bashOffer(value: string): string {
  const list = listOfValue[value];
  if (list !== undefined) return `<${list}>`;
  return fileValues.has(value) ? "<file>" : "<value>";
}

function zsh(commands: readonly Command[]): string {
  const names = commands.map((command) => `    ${shellQuote(`${command.name}:${command.summary}`)}`).join("\n");
  const cases = commands
    .map((command) => `    ${command.name})\n      _arguments -s ${zshSpecs(command).join(" \\\n        ")}\n      ;;`)
    .join("\n");
  return `#compdef skein
# zsh completion for skein: skein completions zsh > a directory of $fpath, as _skein
_skein() {
  local -a commands
  commands=(
${names}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases}
  esac
}
if [[ \${funcstack[1]} == _skein ]]; then _skein "$@"; else compdef _skein skein; fi
`;
}

function zshSpecs(command: Command): string[] {
  const flags = flagsOf(command).flatMap((flag) => spellings(flag).map((word) => shellQuote(zshFlag(flag, word))));
  const verbs = command.verbs ? [shellQuote(`1:what:(${command.verbs.join(" ")})`)] : [];
  const first = takesSession(command) ? [shellQuote(`1:session:${zshNames("session")}`)] : [];
  const teams = command.teamVerbs ? [shellQuote(`2:team:{${zshTeams(command.teamVerbs)}}`)] : [];
  return [...flags, ...verbs, ...first, ...teams, shellQuote("*:file:_files")];
}

function zshTeams(verbs: readonly string[]): string {
  return `[[ $words[2] == (${verbs.join("|")}) ]] && compadd -- ${zshLines("team")}`;
}

function zshNames(list: keyof typeof lists): string {
  return list === "roles" ? `{_values -s , role ${zshLines(list)}}` : `{compadd -- ${zshLines(list)}}`;
}

function zshLines(list: keyof typeof lists): string {
  return `\${(f)"$(${lists[list]})"}`;
}

function zshFlag(flag: Flag, word: string): string {
  const text = flag.summary.replace(/[[\]\\:]/g, "\\$&");
  const spec = `${flag.repeat ? "*" : ""}${word}${flag.value !== undefined && word.startsWith("--") ? "=" : ""}[${text}]`;
  if (flag.value === undefined) return spec;
  const offered = flag.choices ? `(${flag.choices.join(" ")})` : zshOffer(flag.value);
  return `${spec}:${flag.value.replace(/[[\]\\:]/g, "\\$&")}:${offered}`;
}

function zshOffer(value: string): string {
  const list = listOfValue[value];
  if (list !== undefined) return zshNames(list);
  return fileValues.has(value) ? "_files" : " ";
}

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const condition = `-n ${shellQuote(`__fish_seen_subcommand_from ${command.name}`)}`;
    const verbs = command.verbs ? [`complete -c skein ${condition} -f -a ${shellQuote(command.verbs.join(" "))}`] : [];
    return [
      `complete -c skein -n __fish_use_subcommand -f -a ${command.name} -d ${shellQuote(command.summary)}`,
      ...verbs,
      ...(takesSession(command) ? [`complete -c skein ${condition} -f -a ${shellQuote(`(${lists.session})`)}`] : []),
      ...(command.teamVerbs ? [fishTeams(command.name, command.teamVerbs)] : []),
      ...flagsOf(command).map((flag) => `complete -c skein ${condition} ${fishFlag(flag)}`),
    ];
  });
  return `# fish completion for skein: skein completions fish | source\n${lines.join("\n")}\n`;
}

function fishTeams(command: string, verbs: readonly string[]): string {
  const isVerb = `__fish_seen_subcommand_from ${command}; and __fish_seen_subcommand_from ${verbs.join(" ")}`;
  return `complete -c skein -n ${shellQuote(isVerb)} -f -a ${shellQuote(`(${lists.team})`)}`;
}

function fishFlag(flag: Flag): string {
  const short = flag.short ? ` -s ${flag.short}` : "";
  const list = listOfValue[flag.value ?? ""];
  const names =
    list === undefined ? "" : ` -f -a ${shellQuote(list === "roles" ? `(__fish_append , (${lists.roles}))` : `(${lists[list]})`)}`;
  const offered = flag.choices ? ` -f -a ${shellQuote(flag.choices.join(" "))}` : names;
  return `-l ${flag.name}${short}${flag.value === undefined ? "" : " -r"}${offered} -d ${shellQuote(flag.summary)}`;
}
