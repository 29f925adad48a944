// Tests of plan mode in a real terminal with a real editor: the plan is discussed, edited, executed and ticked. Also tests
// of the network switch and of suspending the screen. Needs tmux, so only .ci/run runs it, not npm test.
import { expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript, type Script } from "../../../src/scripted-model/script.ts";
import { model } from "../../support/chat-journey.ts";
import { findProcess } from "../../support/processes.ts";
import { temporaryHome, vendorEnv, type TemporaryHome } from "../../support/temporary-home.ts";
import { openViTerminal, type Terminal } from "../../support/tmux.ts";

const firstPlan = "- [ ] count them\n- [ ] name them\n";
const finalPlan = "- [ ] count them\n- [ ] name them\n- [ ] a person's step\n- [ ] feed them\n";

function answerTo(prompt: string): Script {
  const write = (path: string, content: string) => ({ calls: [{ name: "write", input: { path, content } }] });
  const tick = (step: string) => ({
    calls: [{ name: "edit", input: { path: ".skein/plan.md", old_text: `[ ] ${step}`, new_text: `[x] ${step}` } }],
  });
  const until = (file: string) => ({ calls: [{ input: { command: `while [ ! -e ${file} ]; do sleep 0.05; done` } }] });
  const ask: Script["steps"][number] = {
    calls: [
      { name: "ask_user", input: { question: "Which birds?", options: ["all", "the small ones"] } },
      { name: "ask_user", input: { question: "Until when?" } },
    ],
  };
  if (prompt === "plan the birds") return { steps: [ask, write(".skein/plan.md", firstPlan)], final: "a secret thought" };
  if (prompt === "one more step") return shellScript(["echo '- [ ] feed them' >> .skein/plan.md"], "added");
  if (prompt.startsWith("Carry out")) return { steps: [tick("count them"), until("go"), tick("name them")], final: "carried out" };
  if (prompt === "where") return { steps: [until("on"), ...shellScript(["readlink /proc/self/ns/net"], "").steps], final: "there" };
  return { steps: [], final: `You said: ${prompt}` };
}

async function onScreen(check: (skein: TemporaryHome, terminal: Terminal, server: ModelServer) => Promise<void>): Promise<void> {
  const server = startModelServer(({ position }) => answerTo(position.prompt));
  using skein = temporaryHome(vendorEnv(server.url));
  // Saves as many editors do: it writes a new file and renames it over the old one. The second run fails after that.
  const editor = join(skein.root, "editor");
  skein.env["EDITOR"] = `${editor} '--flag with blanks'`;
  const lines = [
    "#!/bin/sh",
    '[ "$1" = "--flag with blanks" ] || exit 9',
    'cat "$2" > next; echo "- [ ] a person\'s step" >> next; mv next "$2"',
    "[ -e once ] && exit 3",
    "touch once",
  ];
  writeFileSync(editor, `${lines.join("\n")}\n`);
  chmodSync(editor, 0o755);
  try {
    await using terminal = await openViTerminal(skein, { columns: 80, rows: 24 });
    await terminal.press(`skein tui ${model.join(" ")} --sandbox auto`, "Enter");
    await terminal.until(/\[INSERT\] \[idle\]/);
    await check(skein, terminal, server);
  } finally {
    await server.stop();
  }
}

type Body = { system: { text: string }[]; messages: { content: { type: string; text: string }[] }[] };

function sent(server: ModelServer, index: number): { system: string; texts: string[] } {
  const body = server.main().at(index)?.body as unknown as Body;
  const texts = body.messages.flatMap(({ content }) => content).filter((block) => block.type === "text");
  return { system: body.system.map((block) => block.text).join(""), texts: texts.map((block) => block.text) };
}

test("a plan is made in its own session, edited in an editor that renames files, executed without that conversation, and ticked", async () => {
  await onScreen(async (skein, { press, until }, server) => {
    const plan = () => readFileSync(join(skein.project, ".skein", "plan.md"), "utf8");
    await press("hello", "Enter");
    await until(/You said: hello[^]*\[idle\]/);
    const original = sent(server, 0).system;
    await press("Space", "x");
    await until("there is no plan yet");

    await press("Space", "p");
    await until(/Describe what to plan[^]*\[INSERT\] \[plan\]/);
    await press("plan the birds", "Enter");
    await until(/the agent asks \(1 of 2\)[^]*Which birds\?[^]*1\. all[^]*\[plan: asking\]/);
    await press("Escape");
    expect(await until("the question stays open")).toContain("[plan: asking]");
    await press("Space", "q");
    await until("1. all");
    await press("Down", "Enter");
    await until(/the agent asks ─[^]*Until when\?/);
    await press("just now", "Enter");
    const planned = await until(/a secret thought[^]*\[plan\]/);
    expect(planned).toMatch(/> ask_user Which birds\? · the small ones\n[^]*> ask_user Until when\? · just now\n/);
    expect([plan(), sent(server, 1).texts]).toEqual([firstPlan, ["plan the birds"]]);

    await press("C-g");
    await until(/── the plan has 3 lines[^]*\[plan\]/);
    await press("one more step", "Enter");
    await until(/added[^]*\[plan\]/);
    expect(plan()).toBe(finalPlan);

    await press("Space", "x");
    await until(/plan 1\/4: name them[^]*\[execute: bash\]/);
    await press("Space", "e");
    await until(/ended with 3; the plan has 5 lines[^]*\[execute: bash\]/);
    await press("Space", "P");
    await until(/│ - \[x\] count them [^]*│ - \[ \] name them /);
    writeFileSync(join(skein.project, "go"), "");
    await until(/│ - \[x\] name them [^]*plan 2\/4: a person's step[^]*\[execute\]/);
    const request = sent(server, -1);
    expect(request.system).toBe(`${original}\n\n## Plan\n${finalPlan}`);
    expect(request.texts).toEqual([expect.stringMatching(/^Carry out the plan\. .* mark it with \[x\] in \.skein\/plan\.md/)]);
    const sessions = (await skein.run(["list", "--json"])).json() as unknown as {
      id: string;
      parent_session_id: string | null;
      task: string;
    }[];
    const planning = sessions.find(({ task }) => task === "plan the birds");
    expect(sessions.map(({ task, parent_session_id }) => [task.slice(0, 14), parent_session_id])).toEqual([
      ["Carry out the ", planning?.id ?? ""],
      ["plan the birds", null],
      ["hello", null],
    ]);

    // The visible session executes a plan. Planning starts a new session, and leaving it returns to the executing one.
    await press("Escape");
    await until(/── ok · 4 steps[^]*\[execute\]/);
    await press("Space", "p");
    await until(/Describe what to plan[^]*\[plan\]/);
    await press("Space", "p");
    await until(/carried out[^]*plan 2\/4[^]*\[execute\]/);
  });
});

test("the network switch applies from the next turn on, and fg redraws a suspended screen at any size", async () => {
  await onScreen(async (skein, { press, until, resize }) => {
    await press("where", "Enter");
    await until("[bash]");
    await press("Space", "n");
    await until(/network on for the tools of the next turn[^]*\[NET: \w+, next on\]/);
    await press("C-z");
    const shell = await until(/Stopped[^]*\n\$\s*$/);
    expect(shell).not.toContain("[NET:");
    await press("clear; stty -a", "Enter");
    expect(await until(/ -?echo echoe/)).toMatch(/ icanon [^]* echo /);
    await resize(100, 20);
    writeFileSync(join(skein.project, "on"), "");
    await press("fg", "Enter");
    const first = await until(/> bash readlink \S+ · net:\[\d+\][^]*── ok[^]*\[idle\] /);
    expect(first.split("\n")).toHaveLength(21);
    process.kill((await findProcess(skein.root, (command) => command.includes(" tui -m "))).pid, "SIGTSTP");
    expect(await until(/fg\n[^]*Stopped[^]*\n\$\s*$/)).not.toContain("[NET:");
    await press("fg", "Enter");
    await until(/▌ where[^]*── ok[^]*\[idle\]/);
    await press("where", "Enter");
    const second = await until(/net:[^]*▌ where[^]*net:[^]*── ok[^]*\[idle\][^]*\[NET: on\]/);
    const [before, after] = [...second.matchAll(/· (net:\[\d+\])/g)].map(([, id]) => id);
    expect(after).toBe(readlinkSync("/proc/self/ns/net"));
    if (second.includes("[SANDBOX: on]")) expect(before).not.toBe(after);
    await press("C-c", "C-c");
    await until(/Resume with: skein -r .*\n\$/);
    expect(existsSync(join(skein.project, ".skein", "plan.md"))).toBe(false);
  });
});
