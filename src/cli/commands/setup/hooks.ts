// skein hooks test: runs the configured hooks once with a sample record, and shows how each ended.
import { formatDuration } from "../../../kit/text/duration.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { hookNames, type HookName } from "../../../protocol/hooks/hook-event.ts";
import type { HookTest } from "../../../protocol/schema/setup.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

const usage = `test [${hookNames.join("|")}] [--json]`;

export const hooks = reportCommand({
  name: "hooks",
  summary: "run your hooks once with a sample record, to see whether they work",
  usage,
  positionals: { min: 1, max: 2 },
  verbs: ["test"],
  notes: `A hook is a command or a URL in your own config that gets a record when a turn
ends, asks or waits:

  skein config set hooks.turn_ended 'notify-send skein "$(jq -r .status)"'
  skein hooks test turn_ended

The sample record has the session name "hooks test". Exit code 1: a hook failed, or
the named one is not configured.`,
  async report({ positionals: [, name] }, ctx) {
    const hook = hookNames.find((known) => known === name) ?? null;
    if (name !== undefined && hook === null)
      throw new Fault("usage", `there is no hook "${stripControls(name).slice(0, 80)}"`, { hint: `skein hooks ${usage}` });
    const api = await ctx.api();
    const tests = await api.hooks.test({ hook });
    const isBad = tests.some(({ outcome }) => outcome === "failed") || tests.every(({ outcome }) => outcome === "not-configured");
    return { json: tests, text: (style) => testTable(tests, style), exitCode: isBad ? 1 : 0 };
  },
});

function testTable(tests: readonly HookTest[], style: Style): string {
  return tableText(
    tests.map((test) => [test.hook, outcomeText(test, style)]),
    { columns: [{}, {}] },
  );
}

function outcomeText({ hook, outcome, problem, durationMs }: HookTest & { hook: HookName }, style: Style): string {
  if (outcome === "not-configured") return style.dim(`not configured: skein config set hooks.${hook} <command or URL>`);
  if (outcome === "ok") return style.green(`ok, ${formatDuration(durationMs)}`);
  return style.red(stripControls(problem ?? "failed"));
}
