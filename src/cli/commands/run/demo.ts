// skein demo: a whole run in a minute, without a key and without network. Only the model is scripted.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TreeView, TurnStartParams } from "../../../protocol/api/api.ts";
import { exitCodes, Fault } from "../../../protocol/api/error.ts";
import { defaultPolicy } from "../../../protocol/api/policy.ts";
import { bareTurn } from "../../../protocol/api/turn-options.ts";
import type { Command } from "../../parse/command.ts";
import { followTurn } from "../../print/follow-turn.ts";
import { printerFor } from "../../print/printer.ts";
import { treeText } from "../../print/tree.ts";
import { styleOf } from "../../terminal/style.ts";

const demoTask = "Write slug.sh, which turns a title into a URL slug, with a test. Make the test pass.";

/** The model writes a small program with a bug, sees its test fail, and repairs it. */
const program = `# Prints the URL slug of a title.
slug() {
  printf '%s' "$1" | tr '[:upper:]' '[:lower:]' | tr -s ' ' '-'
}
`;

const test = `. ./slug.sh
check() {
  got=$(slug "$1")
  if [ "$got" = "$2" ]; then echo "ok    $1 -> $got"; else echo "FAIL  $1 -> $got, wanted $2"; exit 1; fi
}
check "Hello World" "hello-world"
check "What's new?" "whats-new"
`;

const demoScript = {
  steps: [
    {
      text: "I'll write the program and its test, then run it.",
      calls: [
        { name: "write", input: { path: "slug.sh", content: program } },
        { name: "write", input: { path: "test.sh", content: test } },
      ],
    },
    { calls: [{ name: "bash", input: { command: "bash test.sh" } }] },
    {
      text: "Punctuation stays in the slug. It has to go before the spaces become dashes.",
      calls: [{ name: "edit", input: { path: "slug.sh", old_text: "| tr -s ' ' '-'", new_text: "| tr -cd 'a-z0-9 -' | tr -s ' ' '-'" } }],
    },
    { calls: [{ name: "bash", input: { command: "bash test.sh" } }] },
    { text: "slug.sh:3 now drops punctuation; both checks of test.sh pass." },
  ],
};

export const demo: Command = {
  name: "demo",
  summary: "see a whole run now, with no key and no network",
  usage: "[--keep] [--json]",
  positionals: { min: 0, max: 0 },
  flags: [
    { name: "keep", summary: "keep the temporary project and its data, and print its path" },
    { name: "json", summary: "print only the result object" },
  ],
  notes: "A scripted model drives the real loop, tools, store and transcript in a temporary project.",
  async run(args, ctx) {
    const root = mkdtempSync(join(tmpdir(), "skein-demo-"));
    const project = join(root, "project");
    mkdirSync(join(project, ".skein"), { recursive: true });
    const script = join(root, "script.json");
    writeFileSync(script, JSON.stringify(demoScript));
    const api = await ctx.api({ cwd: project, env: { ...ctx.env, SKEIN_HOME: join(root, "home") } });
    try {
      const isJson = args.flags["json"] === true;
      const print = (text: string) => (isJson ? undefined : ctx.err.write(text));
      const style = styleOf(ctx.err);
      print(`${style.bold("skein demo")}: the model is a script; the loop, the tools, the files and the tree are real.\n\n`);
      print(`${style.bold("$ skein run")} "${demoTask}"\n`);
      const model = `replay/${script}`;
      const session = await api.session.open({
        find: { by: "new" },
        name: "demo",
        directory: project,
        task: demoTask,
        agent: "native",
        model,
        toolLevel: "minimal",
        parentSession: null,
        transcriptDir: null,
      });
      const printer = await printerFor(isJson ? "json" : "text", ctx, { stream: true, tools: [], watch: api.turn.watch });
      ctx.onStop(() => void api.turn.cancel({ session: session.id }));
      const result = await followTurn(api.turn.start({ ...demoTurn(session.id), prompt: demoTask, model }), printer);
      if (result.status === "cancelled") return exitCodes.cancelled;
      const view = await api.session.tree({ session: session.id });
      const done = result.status === "ok" && followedScript(view);
      if (!done) throw new Fault("internal", "the demo failed", { hint: "`skein doctor` checks this machine" });
      if (isJson) return 0;
      print(`\n${style.bold("The file it wrote")}, slug.sh:\n${indented(readFileSync(join(project, "slug.sh"), "utf8"))}\n`);
      print(
        `${style.bold("The tree it stored")} (every node is stored; a run can be forked at any of them):\n${indented(treeText(view, { ...ctx.err, columns: ctx.err.columns - 2 }))}\n\n`,
      );
      print(nextSteps(style, args.flags["keep"] === true ? root : null));
      return 0;
    } finally {
      await api.close();
      if (args.flags["keep"] !== true) rmSync(root, { recursive: true, force: true });
    }
  },
};

/** Checks that the test really failed once and then passed, as the script claims. */
function followedScript(view: TreeView): boolean {
  const tests = view.nodes.flatMap((node) => node.parts).filter((part) => part.kind === "result" && part.name === "bash");
  return tests.length === 2 && tests.every((part, index) => part.kind === "result" && part.isError === (index === 0));
}

function demoTurn(session: string): TurnStartParams {
  const turn = bareTurn(session, defaultPolicy);
  return { ...turn, limits: { ...turn.limits, maxSteps: 20 }, timeoutMs: 60_000, idleMs: 30_000 };
}

function nextSteps(style: ReturnType<typeof styleOf>, root: string | null): string {
  const keptText = root === null ? "" : `Everything is still in ${root}\n\n`;
  return `${keptText}${style.bold("With a real model")}, in a project of yours:
  export ANTHROPIC_API_KEY=...        or OPENAI_API_KEY, GEMINI_API_KEY, ... (skein auth status lists them all)
  skein run "explain what this project does"
With Ollama on this machine no key is needed. \`skein doctor\` checks this machine, \`skein --help\` lists all commands.
`;
}

function indented(text: string): string {
  return text.trimEnd().replace(/^/gm, "  ");
}
