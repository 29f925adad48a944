// The first ten minutes with the screen in a real terminal of 80 × 24, by someone who knows only what the screen shows: ask,
// stop, correct, answer, go back, fork, change the model, hand over, undo, find an old session, leave. Plain keys.
// Needs tmux, so only .ci/run runs it, not npm test.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import type { Script } from "../../../src/scripted-model/script.ts";
import { model } from "../../support/chat-journey.ts";
import { temporaryHome, vendorEnv, type TemporaryHome } from "../../support/temporary-home.ts";
import { openTerminal } from "../../support/tmux.ts";

const size = { columns: 80, rows: 24 };
const question = { name: "ask_user", input: { question: "Which database?", options: ["Redis", "Postgres"] } };
const write = { name: "write", input: { path: "notes.txt", content: "kept\n" } };

const scripts: Record<string, Script> = {
  "count the birds": { steps: [{ calls: [{ input: { command: "sleep 300" } }] }], final: "never" },
  "pick a database": { steps: [{ calls: [question] }], final: "Noted." },
  "write the notes": { steps: [{ calls: [write] }], final: "The notes are written." },
};

/** Adds an agent that prints a line, as a stand-in for an installed CLI. */
function addAgent(skein: TemporaryHome): void {
  const program = join(skein.root, "bin", "helper");
  mkdirSync(join(skein.root, "bin"));
  writeFileSync(program, '#!/bin/sh\necho "the helper goes on"\n', { mode: 0o755 });
  const folder = join(skein.env["SKEIN_HOME"] as string, "config");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.jsonc"), JSON.stringify({ agents: { helper: { command: program } } }));
}

test("a newcomer asks, stops, corrects, answers, goes back, forks, hands over, undoes, finds a session and leaves", async () => {
  const server = startModelServer(({ position: { prompt } }) => scripts[prompt] ?? { steps: [], final: `You said: ${prompt}` });
  using skein = temporaryHome(vendorEnv(server.url));
  addAgent(skein);
  const notes = join(skein.project, "notes.txt");
  try {
    await using terminal = await openTerminal(skein, size);
    const { press, until } = terminal;
    await press(`skein ${model.join(" ")}`, "Enter");
    await until("/help");

    // Help: the command that the first screen names.
    await press("/help", "Enter");
    await until(/┌─ help[^]*Esc closes/);
    await press("Escape");

    // Ask, stop with Esc, and correct: nothing typed after Esc is lost.
    await press("count the birds", "Enter");
    await until("sleep 300");
    await press("Escape");
    await until("cancelled");
    await press("stop, count the fish", "Enter");
    await until("You said: stop, count the fish");

    // Answer a question with words that start with a key of other programs.
    await press("pick a database", "Enter");
    await until(/Which database\?[^]*1\. Redis[^]*Enter sends it/);
    await press("just use Redis", "Enter");
    await until(/just use Redis[^]*Noted\./);

    // A wrong command is not sent.
    const requests = server.requests.length;
    await press("/frobnicate", "Enter");
    await until("no command /frobnicate");
    expect(server.requests).toHaveLength(requests);
    await press("C-c");
    await until("cleared the message");

    // Go back: Esc says what the next Esc does.
    await press("Escape");
    await until("press Esc again to go back to an earlier message");
    await press("Escape");
    await until(/go back to before a message[^]*pick a database[^]*stop, count the fish[^]*count the birds/);
    await press("Down", "Enter");
    await until(/> stop, count the fish\n/);
    await press(" again", "Enter");
    await until("You said: stop, count the fish again");

    // Fork, and change the model.
    await press("/fork", "Enter");
    await until("now in the fork");
    await press("/model", "Enter");
    await until(/┌─ models[^]*anthropic\/claude/);
    await press("haiku");
    await until(/│ > haiku[^]*haiku/);
    await press("Enter");
    await until(/model of the next turns: anthropic\/\S*haiku/);
    await press("who answers", "Enter");
    await until("You said: who answers");
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("haiku");

    // Undo a turn with its file, and take the undo back.
    await press("write the notes", "Enter");
    await until("The notes are written.");
    expect(readFileSync(notes, "utf8")).toBe("kept\n");
    await press("/undo", "Enter");
    await until(/took back "write the notes"; 1 file restored; \/redo/);
    expect(existsSync(notes)).toBe(false);
    await press("/redo", "Enter");
    await until("The notes are written.");
    expect(readFileSync(notes, "utf8")).toBe("kept\n");

    // Hand over to another agent.
    await press("/agent", "Enter");
    await until(/┌─ agents[^]*helper/);
    await press("helper", "Enter");
    await until("agent of the next turns: helper");
    await press("go on", "Enter");
    await until("the helper goes on");

    // Find the first session again, and leave.
    await press("/resume", "Enter");
    await until(/┌─ sessions[^]*find >/);
    await press("database");
    await until(/find > database[^]*/);
    await until(/sessions: 1 /);
    await press("Enter");
    await until(/Noted\.[^┌]*── now in session/);
    await press("C-d");
    await until(/Resume with: skein[^]*\n\$/);
  } finally {
    await server.stop();
  }
}, 120_000);

test("text that is typed while the screen starts is in the prompt", async () => {
  const server = startModelServer({ steps: [], final: "done" });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await using terminal = await openTerminal(skein, size);
    for (const delay of [0, 20, 50, 80, 120, 160, 200]) {
      await terminal.press(`skein --new ${model.join(" ")}`, "Enter");
      await Bun.sleep(delay);
      await terminal.press(`early ${delay}`);
      await terminal.until(new RegExp(`\\n> early ${delay}\\n`));
      await terminal.press("C-u", "C-d");
      await terminal.until(/\$\s*$/);
    }
  } finally {
    await server.stop();
  }
}, 120_000);
