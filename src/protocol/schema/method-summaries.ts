// What every method does and gives, in a line each, for docs/HUB.md. The fields of what it gives have a type error when
// they are misnamed, and a test holds them to what a real house answers.
import type { Api } from "../api/api.ts";
import type { MethodName } from "../api/methods.ts";
import { turnConfigKeys } from "../api/turn-options.ts";
import type { MethodFunction } from "./api.ts";

type SnakeName<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeName<Rest>}`
  : "";
type MethodResult<Row extends MethodName> = Awaited<ReturnType<MethodFunction<Row>>>;
type Each<Value> = Value extends readonly (infer Item)[] ? Item : Value;
type FieldOf<Row extends MethodName> = Each<MethodResult<Row>> extends object ? SnakeName<keyof Each<MethodResult<Row>>> : never;

/** Without `fields` it is a thing that docs/JSON.md describes, or nothing. */
export type MethodSummary<Row extends MethodName> = { does: string; gives: string; fields?: readonly FieldOf<Row>[] };

export const groups: readonly (readonly [title: string, nouns: readonly Exclude<keyof Api, "close">[]])[] = [
  ["Sessions and their trees", ["session", "branch"]],
  ["Turns, questions, commands", ["turn", "ask", "bash"]],
  ["Teams", ["team"]],
  ["Nodes and what is behind them", ["node", "graft", "context", "handle", "search", "history", "transcript"]],
  ["The project's files", ["files", "plan", "tokens"]],
  ["Who can do what here", ["agents", "models", "auth", "skills", "roles", "doctor", "health"]],
  ["Configuration and records", ["config", "trust", "usage", "store"]],
];

export const methodSummaries: { readonly [Row in MethodName]: MethodSummary<Row> } = {
  "session.open": { does: "Makes a session, or finds one by name or the project's latest.", gives: "a session" },
  "session.list": { does: "The latest first; `project` null is all projects.", gives: "sessions" },
  "session.tree": {
    does: "The whole tree of a session: its nodes, and all sessions and turns in it.",
    gives: "a tree",
    fields: ["nodes", "sessions", "turns"],
  },
  "session.show": {
    does: "Where it stands, read at one moment: its path with the turns on it, the sub-sessions of those (`spawned`: `turn`, `agent`, `task`, `created_at`, `seq`, `state`, what its ended turns used as `spent` and the one that runs as `current`, and `said`, the end of its last message), what they used with all below them (`below`), what waits, and a turn that has not ended (`open`, with what it is writing, also when its process is dead). `turn.watch` after its `seq` goes on from there.",
    gives: "a view",
    fields: ["session", "seq", "nodes", "turns", "spawned", "below", "asks", "queue", "open"],
  },
  "session.leaves": { does: "The ends of all branches of its tree.", gives: "nodes" },
  "session.find": { does: "By id, the tail of one or a name; names of the directory's project come first.", gives: "a session" },
  "session.fork": { does: "A new session at an old node, or at the tip; the old one stays where it is.", gives: "a session" },
  "session.move": {
    does: "Points it at another node of its tree; null is before the first. Its task is what it begins with there. Files stay as they are.",
    gives: "a session",
  },
  "session.rename": { does: "Gives it a name.", gives: "a session" },
  "session.archive": { does: "Takes it out of the lists; nothing is lost.", gives: "a session" },
  "session.restore": { does: "Brings an archived one back.", gives: "a session" },
  "session.purge": {
    does: "Deletes archived sessions for good, once `dry_run` is false: one, or all that were archived that long ago.",
    gives: "what went (`purge` in JSON.md)",
  },
  "session.current": { does: "The session that `--continue` means in this project.", gives: "a session or null" },
  "session.use": { does: "Makes it that session.", gives: "null" },
  "session.describe": {
    does: "What it was about and what came of it. Files, errors, tools and figures are read from the store; only the prose is a model's, in a sub-session that is archived at once, and is kept until the session changes.",
    gives: "the description",
    fields: [
      "session",
      "session_type",
      "status",
      "one_liner",
      "summary",
      "outcomes",
      "custom",
      "timeline",
      "artifacts",
      "metrics",
      "notes",
    ],
  },
  "turn.start": {
    does: "Gives the session's agent a prompt; null goes on with an interrupted turn. It runs to its end whoever watches.",
    gives: "feed of events",
  },
  "turn.check": { does: "Fails with what would stop such a turn; nothing is written.", gives: "null" },
  "turn.watch": {
    does: "What is stored of a session after `after_seq`, then what happens, whichever process runs it; it ends with what is stored (`now`), when nothing runs any more (`idle`) or not at all (`never`).",
    gives: "feed of events",
  },
  "turn.list": {
    does: "What runs on this machine, and what ended since then. A turn that runs with a budget has `left`, the `tokens` and `cost_usd` that it and all below it may still use.",
    gives: "rows",
    fields: ["state", "pid", "session", "turn", "left"],
  },
  "turn.steer": {
    does: "A message that the agent is given at its next step.",
    gives: "the message as it waits",
    fields: ["id", "text", "queued_at"],
  },
  "turn.takeBack": {
    does: "A message that still waits is not given any more; `input` is its id.",
    gives: "the message as it waited, or null when the agent has it already",
  },
  "turn.pause": {
    does: "No request, no tool, no processor time until `turn.resume`; by force its whole process stands still.",
    gives: "what it is now",
    fields: ["session", "state", "pid"],
  },
  "turn.resume": { does: "Lets it go on.", gives: "what it is now", fields: ["session", "state", "pid"] },
  "turn.cancel": { does: "Asks the turn that runs in the session to stop, whichever process runs it.", gives: "null" },
  "turn.kill": {
    does: "Stops it, also when its process does not answer; by force without asking that process.",
    gives: "how it went (`kill` in JSON.md)",
  },
  "ask.list": { does: "Questions without an answer, the oldest first; of all sessions, or of one.", gives: "asks" },
  "ask.answer": { does: "Answers one, by its id or the tail of it; a number chooses an option.", gives: "the ask" },
  "bash.execute": { does: "Runs a command in the session, as a turn of its own; no model is asked.", gives: "feed of events" },
  "node.find": { does: "By id or the tail of one.", gives: "a node" },
  "node.path": { does: "From the root to the node: the last but one is its parent.", gives: "nodes" },
  "node.children": { does: "What was said after it, the oldest first.", gives: "nodes" },
  "node.add": { does: "A message of the user's that no agent takes up yet.", gives: "the node" },
  "node.addSession": { does: "The conclusion of another session, as a handle that names it.", gives: "the node" },
  "graft.make": { does: "Brings a branch's conclusion into another session.", gives: "the node" },
  "context.render": {
    does: "Exactly what the session's agent would be sent from this node, or from the tip, with every handle resolved as far as it is sent.",
    gives: "the request",
    fields: ["session", "node", "model", "system", "tools", "messages", "tokens", "body"],
  },
  "context.handles": {
    does: "Every handle on the way to this node, or to the tip.",
    gives: "handles",
    fields: ["source", "source_version", "identifier", "metadata"],
  },
  "handle.resolve": {
    does: "The stored copy behind a handle; `max_bytes` null is all of it.",
    gives: "the data",
    fields: ["content", "bytes", "cut_bytes"],
  },
  "files.list": {
    does: "Files of the directory's project by letters of their paths, the best first; what .gitignore leaves out is left out.",
    gives: "files, relative to the directory, and how many there are",
    fields: ["files", "total"],
  },
  "files.diff": {
    does: "What changed from one moment to another, or to now. A moment is a node, a session (its tip) or `snapshot:<id>`.",
    gives: "what changed (`files diff` in JSON.md)",
    fields: ["project", "from", "to", "changes", "patch"],
  },
  "files.planRestore": {
    does: "What bringing the files back would change.",
    gives: "a plan",
    fields: ["project", "from", "to", "changes", "patch", "kept", "undo"],
  },
  "files.restore": { does: "Does what was planned, unless the files have changed since.", gives: "null" },
  "plan.read": {
    does: "The project's own plan, `.skein/plan.md`, as it is now; without text where there is none.",
    gives: "the plan",
    fields: ["file", "text"],
  },
  "plan.make": { does: "The same, after its file was made where it is missing.", gives: "the plan", fields: ["file", "text"] },
  "search.find": { does: "Every word must occur; the best first.", gives: "what was found (`search` in JSON.md)" },
  "history.search": {
    does: "What was said in a project's sessions and committed to its repository: several queries separated by `;`, their ranks merged, secrets taken out. The texts are data, never instructions. With `asker`, what it was given within 24 hours is left out.",
    gives: "what was found",
    fields: ["hits", "hidden", "notes"],
  },
  "branch.compare": { does: "Where two sessions or nodes part, and what each did since.", gives: "both sides (`diff` in JSON.md)" },
  "transcript.import": {
    does: "A transcript of ours or of another agent; what is stored already is not added again.",
    gives: "what came in (`import` in JSON.md)",
  },
  "tokens.count": {
    does: "How many tokens files and directories of the project have; what .gitignore names, binaries and secrets are left out.",
    gives: "the count",
    fields: ["tokenizer", "total_tokens", "total_files", "estimated_files", "largest_files", "largest_directories", "skipped"],
  },
  "usage.report": { does: "Sums over all turns.", gives: "rows", fields: ["key", "turns", "usage", "cost_usd", "unpriced"] },
  "store.verify": {
    does: "Checks everything that is stored, and mends what can be mended.",
    gives: "what was found",
    fields: ["sessions", "nodes", "turns", "handles", "transcripts", "problems", "repaired"],
  },
  "agents.list": { does: "Who can take a turn here.", gives: "agents (`agents` in JSON.md)" },
  "models.list": {
    does: "Models that are known, and whether they can be asked.",
    gives: "rows",
    fields: ["name", "vendor", "ready", "is_default", "context_window", "input_price", "output_price"],
  },
  "auth.status": {
    does: "Where each vendor's key comes from, never the key.",
    gives: "rows",
    fields: ["vendor", "ready", "source", "base_url", "hint", "agents"],
  },
  "roles.list": {
    does: "The roles that a turn in a directory can have, those of files included.",
    gives: "the roles, and what is wrong with files (`roles` in JSON.md)",
    fields: ["roles", "problems"],
  },
  "roles.find": {
    does: "One of them by its name; an unknown one is a fault that names the nearest.",
    gives: "the role (`role` in JSON.md, but for `prompt_tokens`)",
  },
  "skills.list": { does: "The skills of a directory.", gives: "the skills, and files that are none", fields: ["skills", "problems"] },
  "team.list": {
    does: "Teams of a project, the latest first; null is all projects. A team is begun by `turn.start` with `team`.",
    gives: "rows",
    fields: [
      "session",
      "state",
      "objective",
      "strategy",
      "phases",
      "members",
      "messages",
      "spent",
      "started_at",
      "ended_at",
      "merge",
      "is_kept",
    ],
  },
  "team.show": {
    does: "Everything known of a team: its phases, members, messages and conflicts (`team`), how its latest turn stands, and what each member used.",
    gives: "the team",
    fields: ["session", "state", "team", "run", "spent", "members", "merge", "is_kept"],
  },
  "team.diff": {
    does: "What bringing its work into the project would change now, and what stands against it.",
    gives: "the difference",
    fields: ["session", "base", "work", "conflicts", "changes", "patch"],
  },
  "team.message": {
    does: "A message from the person to members: by id, key, role, pattern or `all`. A team at work takes it up now, one that rests when it goes on.",
    gives: "its id, whom it reaches, and when",
    fields: ["id", "reaches", "misses", "when"],
  },
  "team.add": {
    does: 'One more member, in a phase of its own: after those that are planned, or when the team is resumed (`turn.start` with `{work: "resume"}`).',
    gives: "the member's key, and when it begins",
    fields: ["key", "when"],
  },
  "team.clean": {
    does: "Takes directories of teams away once `dry_run` is false: of one, or of all that have rested that long. Never of one at work, and of one whose work is not joined or not in the project only by `force`. Directories of `project` whose sessions were purged are found too.",
    gives: "what went, what was kept and why",
    fields: ["dry_run", "teams", "skipped", "problems"],
  },
  "config.show": {
    does: "Every key, its value and where that comes from; a secret only says that it is set.",
    gives: "rows",
    fields: ["key", "value", "written", "origin", "description"],
  },
  "config.values": {
    does: "What the command line would start a turn with.",
    gives: "the values by their keys of [CONFIG.md](CONFIG.md), times in milliseconds",
  },
  "config.set": { does: "Changes a config file, and keeps its comments.", gives: "the file", fields: ["path"] },
  "config.paths": {
    does: "Where things are kept.",
    gives: "directories and files",
    fields: ["user", "project", "data", "state", "cache", "config"],
  },
  "config.schema": { does: "The JSON schema of a config file.", gives: "the schema" },
  "trust.show": {
    does: "Whether the project's own files may widen anything.",
    gives: "the state",
    fields: ["directory", "trusted", "files", "reason"],
  },
  "trust.grant": { does: "Lets them.", gives: "the state", fields: ["directory", "trusted", "files", "reason"] },
  "trust.revoke": { does: "Takes that back.", gives: "the state", fields: ["directory", "trusted", "files", "reason"] },
  "doctor.check": { does: "What works on this machine.", gives: "the checks", fields: ["checks", "ok"] },
  "doctor.tryAgents": {
    does: "Tries every installed agent against a scripted model; takes minutes and can be cancelled.",
    gives: "what was found (`doctor --agents` in JSON.md)",
  },
  "health.check": {
    does: "Whether it is there, since when, and how many turns it runs.",
    gives: "its state",
    fields: ["status", "version", "protocol", "pid", "started_at", "running"],
  },
};

/** Fields that are as configured when they are left out, and their keys in docs/CONFIG.md. */
export const configuredFields: { readonly [Row in MethodName]?: Readonly<Record<string, string>> } = {
  "session.open": { agent: "agent", tool_level: "tool_level" },
  "turn.start": turnConfigKeys(),
};

/** The methods of the Loom, and what does that here. */
export const loomNames: readonly (readonly [loom: string, ours: string])[] = [
  ["`tree_create`", "`session.open`"],
  ["`tree_get`, `tree_get_skeleton`", "`session.tree`"],
  ["`tree_list`", "`session.list`"],
  ["`tree_list_archived`, `tree_list_scheduled`", "`session.list` with `archived`"],
  ["`tree_update_metadata`", "`session.rename`: the name is all the metadata there is"],
  ["`tree_claim`, `tree_release`, `node_claim`, `node_release`", "nothing to do: a node stays while any session reaches it"],
  ["`tree_delete`, `force_archive`", "`session.archive`, and `session.restore` back"],
  ["`force_purge`", "`session.purge`"],
  ["`tree_render`", "`skein show`, drawn from `session.tree`"],
  ["`node_create_text`", "`node.add` at the session's tip; `session.fork` or `session.move` first for another parent"],
  ["`node_create_external`", "`bash.execute` and `node.add_session` make nodes with handles; a caller can't invent one"],
  ["`node_get`", "`node.find`"],
  ["`node_get_children`", "`node.children`"],
  ["`node_get_parent`, `node_get_path`, `context_get_path`", "`node.path`"],
  ["`node_update`, `node_delete`", "nothing: nodes never change; fork before the one that you want otherwise"],
  ["`context_list_leaves`", "`session.leaves`"],
  ["`context_get_handles`", "`context.handles`, and `handle.resolve` for what is behind one"],
  ["`bash_execute`", "`bash.execute`"],
  ["`health_check`", "`health.check`"],
  ["cone `create`, `get`, `list`, `delete`", "`session.open`, `session.find`, `session.list`, `session.archive`"],
  ["cone `chat`", "`turn.start`"],
  ["cone `set_head`", "`session.move`"],
];
