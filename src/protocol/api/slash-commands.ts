// The table of slash commands: names, arguments and summaries. The screen and `skein chat` take theirs from here, so that
// one word means one thing in both. A summary completes "name — …" in menus and help.

export type SlashEntry = {
  /** Usage of its argument: `<x>` is required, `[x]` is optional. */
  usage: string;
  summary: string;
  /** Other words for the same command, mostly those of other programs. */
  aliases?: readonly string[];
};

const table = {
  help: { usage: "", summary: "show all commands and keys", aliases: ["?", "commands", "keys"] },
  new: { usage: "", summary: "start a new session" },
  clear: { usage: "", summary: "start again, in a new branch", aliases: ["reset"] },
  compact: { usage: "", summary: "summarise the conversation so far", aliases: ["summarize", "summarise"] },
  model: { usage: "[vendor/id]", summary: "choose the model that answers", aliases: ["models"] },
  agent: { usage: "[name]", summary: "hand over to another agent: claude, codex" },
  policy: { usage: "[name]", summary: "change the rights: workspace, plan, readonly", aliases: ["permissions", "approvals"] },
  resume: { usage: "[session]", summary: "find an earlier session and go on with it", aliases: ["sessions"] },
  fork: { usage: "[name]", summary: "start a new session from here", aliases: ["branch"] },
  back: { usage: "[n]", summary: "go back to an earlier message", aliases: ["rewind", "checkpoint"] },
  tree: { usage: "", summary: "show all branches: go to, fork, compare" },
  switch: { usage: "<session|node>", summary: "go to a session, or move this one to a node" },
  branches: { usage: "", summary: "list the branches of the nearest fork" },
  leaves: { usage: "", summary: "list every end of the conversation" },
  graft: { usage: "<session|number>", summary: "add the conclusion of another branch here" },
  diff: { usage: "", summary: "show the files that this session changed" },
  undo: { usage: "", summary: "take back the last turn and its files" },
  redo: { usage: "", summary: "take back the last undo" },
  cost: { usage: "", summary: "show tokens and costs", aliases: ["usage", "stats", "costs"] },
  budget: { usage: "[usd|off]", summary: "show the costs, or limit those of a turn" },
  context: { usage: "", summary: "show what the model gets" },
  review: { usage: "[what]", summary: "ask for a review of the uncommitted changes" },
  copy: { usage: "", summary: "copy the last answer to the clipboard", aliases: ["yank"] },
  export: { usage: "[file]", summary: "save this branch: .md, .html, .json, .txt" },
  init: { usage: "", summary: "ask for an AGENTS.md of this project" },
  login: { usage: "", summary: "show the key or sign-in that each vendor needs", aliases: ["auth", "logout"] },
  mcp: { usage: "", summary: "show MCP servers, and skein as one" },
  race: { usage: "[agents task]", summary: "let several agents race, or show a race" },
  loop: { usage: '"command" <task>', summary: "repeat a task until a command succeeds" },
  check: { usage: "[command|off]", summary: "run a command after each turn; it must succeed" },
  queue: { usage: "<message>", summary: "send a message as the next turn" },
  agents: { usage: "", summary: "watch, steer, pause and stop running turns", aliases: ["ps", "tasks", "bashes"] },
  net: { usage: "[on|off]", summary: "turn the network for tools on or off", aliases: ["network"] },
  plan: { usage: "", summary: "plan in a new session; again: go back" },
  exec: { usage: "", summary: "execute the plan in a new session", aliases: ["execute"] },
  "edit-plan": { usage: "", summary: "edit the plan in $VISUAL or $EDITOR" },
  steps: { usage: "", summary: "show the plan and its progress" },
  edit: { usage: "", summary: "write the message in $VISUAL or $EDITOR", aliases: ["editor"] },
  asks: { usage: "", summary: "show the questions that wait for an answer", aliases: ["questions"] },
  find: { usage: "[words]", summary: "find words in the conversation", aliases: ["search"] },
  history: { usage: "", summary: "find a message sent in this project" },
  palette: { usage: "", summary: "find a command" },
  rename: { usage: "<name>", summary: "rename this session" },
  watch: { usage: "", summary: "watch the sub-session of the block in focus" },
  cancel: { usage: "", summary: "stop the turn, in any process", aliases: ["stop"] },
  continue: { usage: "", summary: "continue an interrupted turn" },
  hub: { usage: "", summary: "start the hub after a lost connection" },
  suspend: { usage: "", summary: "go back to the shell; fg returns" },
  quit: { usage: "", summary: "leave; the session is saved", aliases: ["exit", "q"] },
} as const satisfies Record<string, SlashEntry>;

export type SlashName = keyof typeof table;

export const slashTable: Readonly<Record<SlashName, SlashEntry>> = table;

/** The name of a command or of its alias. Null if no command has it. */
export function slashNameOf(word: string): SlashName | null {
  if (Object.hasOwn(table, word)) return word as SlashName;
  const found = Object.entries(slashTable).find(([, { aliases }]) => aliases?.includes(word) === true);
  return found === undefined ? null : (found[0] as SlashName);
}

/** The message of `/compact`. */
export const compactPrompt = "Summarise the conversation so far.";

/** The message of `/review`. */
export function reviewPrompt(what: string): string {
  const subject = what === "" ? "the uncommitted changes of this project, with new files" : what;
  return `Review ${subject}. Look at the code around it too. List bugs, risks and missing tests, the most important first, each with path:line and the reason. Change no files.`;
}

/** The message of `/init`. */
export function initPrompt(): string {
  return "Write AGENTS.md for this project, or improve the one it has: what the project does, how to build, test and check it, where things are, and rules that a newcomer would not guess. At most 60 lines. Run nothing that changes other files, and state only what you have seen.";
}
