// skein fleet: the database that many machines share, its workers, runs and schedules.
import { Fault } from "../../../protocol/api/error.ts";
import type { FleetSetup } from "../../../protocol/schema/setup.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { reportCommand, type Report } from "../report-command.ts";
import { fleetFlags } from "./send-run.ts";

type Verb = (args: Args, ctx: CommandContext) => Promise<Report>;

const verbs: Record<string, { flags: readonly string[]; positionals: number; load: () => Promise<Verb> }> = {
  setup: { flags: [], positionals: 1, load: async () => setUp },
  status: { flags: ["all"], positionals: 1, load: async () => (await import("./fleet-status.ts")).reportStatus },
  drain: { flags: [], positionals: 2, load: async () => drain },
  pull: { flags: [], positionals: 2, load: async () => (await import("./fleet-files.ts")).pull },
  schedule: {
    flags: ["tz", "remove", "needs", "priority", "agent", "model"],
    positionals: 4,
    load: async () => (await import("./fleet-schedule.ts")).schedule,
  },
  cap: { flags: [], positionals: 3, load: async () => setCap },
};

export const fleet = reportCommand({
  name: "fleet",
  summary: "share sessions and runs between machines, in a Postgres database",
  usage: "setup | status [--all] | pull <session> | drain <worker> | schedule [name cron task] | cap [owner] n",
  positionals: { min: 1, max: 4 },
  verbs: Object.keys(verbs),
  flags: [
    { name: "all", summary: "with status: also runs that ended" },
    { name: "tz", value: "zone", summary: "with schedule: the time zone of the expression (default: that of this machine)" },
    { name: "remove", summary: "with schedule: remove the schedule" },
    ...fleetFlags.filter(({ name }) => name !== "fleet").map((flag) => ({ ...flag, summary: flag.summary.replace("--fleet", "schedule") })),
    { name: "agent", short: "a", value: "agent", summary: "with schedule: the agent that takes the turns" },
    { name: "model", short: "m", value: "model", summary: "with schedule: the model to use" },
  ],
  notes: `A fleet is several machines with one store in Postgres. On the first machine:

  export FLEET_URL='postgres://user:password@host/skein?sslmode=verify-full'
  skein config set fleet.url '$FLEET_URL'
  skein fleet setup

\`setup\` creates the tables, or brings them to this version of skein. It keeps all
data. \`skein worker start\` on a machine takes runs; \`skein run --fleet "task"\` on
another sends them. \`drain\` lets a worker finish its runs and end. \`cap 3\` limits
everyone to three runs at once, \`cap ann 5\` one person, \`cap ann off\` removes it.
docs/FLEET.md has the whole set-up.

Examples:
  skein fleet status
  skein fleet pull 3f2a
  skein fleet schedule nightly "0 3 * * *" "update the dependencies"`,
  async report(args, ctx) {
    const name = args.positionals[0]!;
    const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
    if (verb === undefined)
      throw new Fault("usage", `skein fleet has no verb "${name}"`, { hint: `its verbs are ${Object.keys(verbs).join(", ")}` });
    const flag = Object.keys(args.flags).find(
      (other) => other !== "json" && args.flags[other] !== undefined && !verb.flags.includes(other),
    );
    if (flag !== undefined) throw new Fault("usage", `skein fleet ${name} takes no --${flag}`);
    if (args.positionals.length > verb.positionals)
      throw new Fault("usage", `skein fleet ${name} takes no "${args.positionals[verb.positionals]}"`);
    return (await verb.load())(args, ctx);
  },
});

const setUp: Verb = async (_, ctx) => {
  const api = await ctx.api();
  const result = await api.fleet.setup();
  return { json: result, text: (style) => setupText(result, style) };
};

const drain: Verb = async ({ positionals: [, wanted] }, ctx) => {
  if (wanted === undefined)
    throw new Fault("usage", "which worker?", { hint: "`skein fleet status` lists them: skein fleet drain <worker>" });
  const id = await (await ctx.fleet()).drain(wanted);
  if (id === null)
    throw new Fault("usage", `there is no worker "${wanted}", or more than one`, { hint: "`skein fleet status` lists the workers" });
  return { json: { draining: id }, text: `worker ${id} takes no new run, and ends after its last one\n` };
};

const setCap: Verb = async ({ positionals: [, ...words] }, ctx) => {
  const [owner, text] = words.length > 1 ? [words[0]!, words[1]!] : ["*", words[0] ?? ""];
  const most = text === "off" ? null : Number(text);
  if (most !== null && (!Number.isInteger(most) || most < 1))
    throw new Fault("usage", `a cap can't be "${text}"`, { hint: "it is a number of runs, or off: skein fleet cap 3" });
  await (await ctx.fleet()).setCap(owner, most);
  const who = owner === "*" ? "everyone" : owner;
  return {
    json: { owner, most },
    text: most === null ? `no cap for ${stripControls(who)}\n` : `at most ${most} runs at once for ${stripControls(who)}\n`,
  };
};

function setupText({ database, steps }: FleetSetup, style: Style): string {
  const place = stripControls(database);
  const done = steps.length === 0 ? `${place} is up to date` : `${place} is ready: ${steps.join(", ")}`;
  return `${style.green(done)}

On every machine of the fleet:
  export FLEET_URL='<the same URL>'
  skein config set fleet.url '$FLEET_URL'
On those that should work:
  skein worker start
`;
}
