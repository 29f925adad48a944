// Prints docs/KEYS.md from the table of commands. A test holds the file to it.
import { fixedKeys, screenCommands } from "../../src/tui/keys/commands.ts";
import { panelHelp, keysText } from "../../src/tui/keys/help.ts";

const head = `# Keys of the screen

\`skein\` alone in a terminal, or \`skein tui\`, opens the screen in the current project, on Linux with glibc and on macOS; only Linux on x64 is tried by our tests. Printed from \`src/tui/keys/commands.ts\` by \`npm run docs\`.

To begin: type what is to be done, and Enter. Esc leaves typing and \`i\` goes back to it; Space shows what can be done, \`?\` all keys, \`:q\` leaves.

It is modal: in Insert one types a message (it begins there), in Normal one moves, in Command one types what follows a colon. A colon command may be cut short as long as it means one: \`:q\`.

| keys | what they do | name |
|---|---|---|
`;

const tail = `
## Keys of your own

Keys of your own are in the configuration, by these names: \`{"keys": {"ctrl+t": "fork", "Space g": "model", "J": "page-down", "Q": "none"}}\`. A key is a character, one twice (\`gg\`), a name (\`enter\`, \`pagedown\`, \`f2\`), any of them after \`ctrl+\`, or what follows \`Space\`. It stands before what the key means otherwise; \`none\` takes it away. One that types nothing (\`ctrl+…\`, \`f2\`, \`pageup\`) also works while a message is typed. Esc, Ctrl+C and Space stay what they are. In an overlay the keys are its own.

## The status bar

The status bar reads \`[MODE] [ACTIVITY] [i:1234(c:800) o:567 | total i:9999 o:2345 $0.42] [NET: off] [SANDBOX: on]\`: the tokens of this turn (input with what of it came from the cache, output), those of the branch and what they cost (\`$?\` when a price is not known), sub-sessions included, the network (while a turn runs what its tools really have, then what the next one's are to have: \`off, next on\`; switching it starts them in a sandbox of their own), and whether the kernel holds all walls (\`on\`), some (\`partly\`) or none (\`off\`) in the latest one; before the first turn that is what was asked for.

## Whoever runs it

A session is shown live whichever process runs its turn; then \`[ACTIVITY]\` names that process, a message is steered into its turn, and Ctrl+C does not stop it: \`:cancel\` does. Whoever clears, forks or goes to another session leaves the turn running in the old one, and nothing of it comes into the new one. Such a turn ends with the screen unless the hub runs it: \`:quit\` and Ctrl+C say so first, and leave when they are asked again. After a crash, or whenever it is opened again, the session has all that was on the screen, up to the last 100 ms, with a block for each sub-session: how it stands, what it used and said last, and Enter on it shows the whole of it, to be watched only. After a crash Enter on an empty prompt goes on with the turn, and Esc leaves it.

\`skein tui --hub auto\` works through the hub of this machine, and starts it if need be: \`:quit\` then leaves a turn running, and \`skein tui --hub auto\` finds it again. With an address, \`--hub ws://127.0.0.1:4444\`, it is that hub; the token is the one of this machine's hub, or in \`SKEIN_HUB_TOKEN\`. A hub that dies is told and looked for; \`:hub\` starts one, and nothing that was recorded is lost. \`skein attach <session> --tui\` opens a session that runs somewhere.

## Questions, and messages that wait

A question of the agent's, or of one below it, opens over the transcript: arrows, \`j\` and \`k\`, or its number choose an option, anything else that is typed is the answer, Enter gives the answer that was chosen or typed and never one that was not, Tab goes to the next question, and Esc puts it off; it stays open, and Tab or \`Space q\` brings it back, or whatever else in the project waits for an answer. It opens by itself only on an empty prompt: in Normal mode the line above the prompt tells it until Tab opens it, so that no key meant for the transcript or a command answers it, and while a message is half typed it waits until that is sent, or left with Esc. A message sent while a turn runs is queued above the line until the agent is given it; Up in an empty prompt takes the latest back, to be changed or dropped.

## What can be typed

A message may have several lines, and Enter sends it. What was sent before in this project, here or in \`skein chat\`, comes back with Up and is searched with Ctrl+R. \`@\` and a few letters of a path list the project's files, without those of .gitignore; the path stays text, and the agent reads the file with its tools. \`!command\` runs under the policy of the next turn; what it prints is shown, recorded and sent to the agent with the next message. It is a turn of its own, so while another one runs it waits in the prompt for a second Enter. \`/model\` is \`:model\`; any other text that begins with a slash is a message. A paste of more than 10 lines or 2,000 characters shows as \`[pasted 340 lines]\` and is sent whole; the path of an image (png, jpeg, gif, webp; up to 5 MB), pasted or dropped, becomes \`[image shot.png]\` and the image goes along, where the native agent is the one who answers. Backspace takes such a label away as a whole.

What is typed and not sent outlives the screen, however it ends, also by a \`kill -9\` (but for the last second): the next one in that project has it in its prompt and says so. Each screen keeps its own, and each one that is opened takes the latest that nobody has; what is sent or deleted is kept no longer. It lies in \`unsent\` in the state directory, for your eyes only.

## Plans

\`Space p\` plans: the next message begins a session of its own under policy \`plan\`, with nothing of the talk before it; it can look around and ask, and write only \`.skein/plan.md\`. The activity is \`plan\` meanwhile, and \`Space p\` leads back to where one was. \`Space x\` carries the plan out in a new session below the one that planned, which is sent the plan and nothing of that talk (\`execute\`). Its boxes, or numbered lines where it has none, are its steps: the agent is asked to mark them in the file, and the line above the prompt shows how many are, read from the file after each tool. \`Space e\` and Ctrl+G open the plan in \`$VISUAL\`, \`$EDITOR\` or vi; the agent can go on writing it, also after an editor that saves by renaming. A session that was planned in goes on planning when it is opened again.

## Leaving, for a moment or for good

Ctrl+Z, or a signal that stops it, puts the screen aside and stops skein itself, as any job of the shell: a turn asks nothing more and writes nothing down until \`fg\`, but a command that its agent has started goes on meanwhile, and so does a turn that the hub runs. Where no shell has started it, nothing is stopped.

However it ends (\`:quit\`, Ctrl+C twice, a signal, a fault, a window that is closed), the turns that it runs are stopped and recorded as cancelled, the terminal is as it was before, with its title, and what to type to go on is told. A fault that nobody foresaw is told in a line; its report is in \`crashes.log\` in the state directory. Only after a \`kill -9\` is the terminal left as it is: \`reset\` mends it, and the next start finds the session.

## How it looks

The picture has the sixteen colours of your terminal and no others, so your theme decides, light or dark; with \`NO_COLOR\`, or on a terminal of the vt100 family, it has none. A turn of 10 s or more that ends while you look elsewhere is told as the configuration key \`notify\` says, and so is a question; where the terminal does not say whether it is looked at, always. In tmux \`osc\` needs \`allow-passthrough\`, and \`focus-events\` lets it say so.

An image in the transcript is told by kind and size. Below that it is drawn, in at most 12 rows, where the terminal answers that it speaks the kitty graphics protocol, as kitty and Ghostty do; Enter on it folds it away. It is not drawn in tmux or another multiplexer, with \`--inline\`, in a terminal that has only sixel, and when it has more than 8 MB. \`skein chat\`, \`show\`, \`ps\` and \`attach\` do most of what is here on the command line.

## Without a screen of its own, and for those who listen

\`skein tui --inline\` has no screen of its own: what is finished is printed once and scrolls away in the terminal, which keeps and scrolls it as anything else, and only what still changes stands at the end, above the composer. What looks back (\`k\`, \`[\`, a search) or lies over the transcript (help, pickers, panels) takes the whole screen for as long as it is there. There the mouse is the terminal's.

\`--screen-reader\`, the configuration key \`screen_reader\` or \`ACCESSIBLE=1\` make \`skein tui\` and \`skein chat\` the same talk for those who listen: no keys and no drawing, whole lines that say what they are ("Assistant: …", "Tool bash: …", "Question: …"), typed as the terminal lets one type them. It is \`skein chat\` with another printer, so its slash commands are there; a question ends the turn, and the next line answers it. Ctrl+C leaves.
`;

export function printKeysDocs(): string {
  const rows = [
    ...fixedKeys.map(({ keys, summary }) => row(keys, summary, "")),
    ...screenCommands.map((command) => row(keysText(command, {}), command.summary, `\`${command.name}\``)),
  ];
  const panels = panelHelp.map(
    ({ title, lines }) => `\n## ${title}\n\n| keys | what they do |\n|---|---|\n${lines.map(panelRow).join("\n")}\n`,
  );
  return `${head}${rows.join("\n")}\n${panels.join("")}${tail}`;
}

function panelRow([keys, summary]: [string, string]): string {
  return `| ${keys.split(", ").map(quoted).join(", ")} | ${summary} |`;
}

function row(keys: string, summary: string, name: string): string {
  return `| ${keys.split(", ").map(quoted).join(", ")} | ${summary} | ${name} |`;
}

function quoted(keys: string): string {
  return `\`${keys.replaceAll("|", "\\|")}\``;
}
