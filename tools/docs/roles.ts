// Prints docs/ROLES.md, its table from the roles that are built in. A test holds the file to it.
import { countTextTokens } from "../../src/kit/text/count-tokens.ts";
import { rolePrompt, type Role } from "../../src/protocol/api/role.ts";
import { builtInRoles } from "../../src/roles/built-in.ts";

const head = `# Roles

A role says what an agent is to be in a turn: a short prompt, and ceilings on tools, policy, time and memory. It adds no rights: a turn in a role may do what the turn was allowed, or less. Printed from \`src/roles/built-in.ts\` by \`npm run docs\`.

\`\`\`sh
skein run --role codereviewer "look at the last commit"
skein chat --role architect
skein roles                                 # what there is here, and what is wrong with the rest
skein roles show engineer                   # one of them, with its prompt
\`\`\`

An agent gives one to a sub-session with \`spawn_session {role}\`, an MCP client to another agent with \`work_with {role}\`, a program with \`turn.start {role: {name}}\` over the hub. In the first two, words that are no role's name are told to the agent as they are. Which role a turn had is recorded: \`role\` in \`show --json\` and \`ps --json\`.

## Those that are always there

Time is for the whole turn, then without a sign of life. Tokens are what the prompt adds to every request (o200k_base), then with the places of a team. All ask for no agent and no model of their own.

| role | what it does | tools | policy | time | memory | tokens |
|---|---|---|---|---|---|---|
`;

const tail = `
In a team each is also told what to read first and where its results go, by the variables of the team:

| role | reads | writes |
|---|---|---|
`;

const rest = `
## What a role changes

- **Prompt**: the end of the system prompt, after \`--append-system\`. Another agent's command line is told it in its own way, or at the beginning of the prompt (\`skein agents --json\` says which). A sub-session is told its own role, never that of its parent.
- **Tools**: those of the turn that the role names too. Another agent's command line brings tools of its own, and only the policy holds it.
- **Policy and network**: the narrower of the two. A role that may write nothing needs walls (\`--sandbox required\`), and does not begin without them.
- **Time**: the shorter of the two, in all and without a sign of life. What there is at the end is kept.
- **Memory**: what a team gives a member in this role; alone it is not used.
- **Agent and model**: where neither a flag nor a call names one. A role's model goes with the role's agent.

What is said for this turn counts more: \`--tools\`, \`--tool-level\`, \`--policy\`, \`--sandbox\`, \`--net\`, \`--timeout\`, \`-a\`, \`-m\`.

## Writing one

A Markdown file, its fields between two lines of \`---\`, then the prompt:

\`\`\`markdown
---
name: translator
description: Translates the texts of the program, and nothing else.
tools: read, write, edit
policy: workspace
timeout: 20m
---

You translate. Keep placeholders and line breaks as they are. Ask when a word has two meanings.
\`\`\`

| for | place |
|---|---|
| one project | \`.skein/roles/*.md\`, then \`.claude/agents/*.md\` |
| you, everywhere | \`roles/*.md\` in skein's config directory (\`skein config path\`), then \`~/.claude/agents/*.md\` |

The project's stand over yours, and yours over those that are built in. A file with the name of another role makes that one special: what it leaves out, it has from there, and \`skein roles\` says so.

| field | |
|---|---|
| \`name\` | letters, digits, \`-\` and \`_\`; else the name of the file |
| \`description\` | one line for whoever chooses; needed |
| \`tools\` | of read, write, edit, bash, spawn_session; a list, or names with commas |
| \`policy\` | the most it may do: \`readonly\`, \`plan\`, \`workspace\`, \`full\` |
| \`net\` | \`off\` takes the network away |
| \`timeout\`, \`idle\` | seconds or \`90s\`, \`10m\`, \`2h\` |
| \`max_memory_mb\` | a whole number |
| \`agent\`, \`model\` | who takes the turn, where nobody else is named |
| \`capabilities\` | words for whoever chooses |

What is left out is inferred and noted: tools read, write and edit, and bash where name or description speak of code, implementing, engineering, developing, tests or QA; policy \`workspace\`, or \`readonly\` where no tool could write; 1 h where they speak of architecture or design, 2 h for implementing or code, else 45 min; 10 min without a sign of life; 2048 MB.

Claude Code's agents are taken as they are. Its tools have our names (\`Edit\` and \`MultiEdit\` are edit, \`Task\` is spawn_session); \`Grep\`, \`Glob\` and \`LS\` are bash, in an agent that can write nothing; without \`tools\` it has those of the turn. \`model: inherit\` and its short names (\`sonnet\`, \`opus\`, \`haiku\`) leave the model to the turn.

A file that can't be used is told with its path and the reason, and costs nothing else. One field can decide that: a policy, a time or tools that can't be understood were meant to narrow, so the role is left out instead of running without them.

## A project that you have not trusted

Its roles are text, and are listed and used. But \`agent\`, \`model\`, \`policy: full\`, \`net: on\` and whatever else would widen something are ignored, with one warning in the turn, until \`skein trust\`; and a role that takes over a known name has no more tools, policy and time than the one it takes it from. A file that leads out of the project by a link is not read.
`;

export function printRolesDocs(): string {
  const places = builtInRoles.filter(({ reads, writes }) => reads.length + writes.length > 0);
  return [head, ...builtInRoles.map(row), tail, ...places.map(placesRow), rest].join("");
}

function row(role: Role): string {
  const minutes = (ms: number | null) => (ms === null ? "none" : `${ms / 60_000} m`);
  const cells = [
    `\`${role.name}\``,
    role.description,
    role.tools?.join(", ") ?? "of the turn",
    role.policy ?? "of the turn",
    `${minutes(role.timeoutMs)}, ${minutes(role.idleMs)}`,
    `${role.maxMemoryMb} MB`,
    `${countTextTokens(rolePrompt(role, "alone"))}, ${countTextTokens(rolePrompt(role, "in-team"))}`,
  ];
  return `| ${cells.join(" | ")} |\n`;
}

function placesRow({ name, reads, writes }: Role): string {
  const listed = (paths: readonly string[]) => paths.map((path) => `\`${path}\``).join(", ");
  return `| \`${name}\` | ${listed(reads)} | ${listed(writes)} |\n`;
}
