// skein agents: lists the agents, their credentials, and what each is missing to take a turn.
import type { AgentCredential, AgentInfo } from "../../../protocol/api/agents.ts";
import { whileWaiting } from "../../terminal/progress.ts";
import { stripControls, showsUnicode, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { reportCommand } from "../report-command.ts";

export const agents = reportCommand({
  name: "agents",
  summary: "list the agents that can take a turn, and what is missing",
  usage: "[--names] [--json]",
  surplusHint: "a new agent is a setting (docs/OTHER-AGENTS.md); `skein roles` lists roles, which are files",
  flags: [{ name: "names", summary: "print only the names of installed agents, one per line (for shell completion)" }],
  notes: `CREDENTIAL is the name of the key that a turn would use, else of the agent's own
sign-in. Its value is never shown. CAN lists the agent's abilities: resume or fork
its own session, take an effort (-m model:high) and a role. \`skein doctor --agents\`
tries the agents offline; its results are shown here and used. A preset is an agent
that needs no configuration; it is listed if its program is installed.`,
  async report(args, ctx) {
    const api = await ctx.api();
    const agentList = await whileWaiting(ctx, "checking the agents", () => api.agents.list());
    if (args.flags["names"]) {
      const names = agentList.filter(({ installed }) => installed).map(({ name }) => name);
      return { json: names, text: names.map((name) => `${stripControls(name)}\n`).join("") };
    }
    const marks = showsUnicode(ctx.env) ? { ready: "✓", notReady: "✗", absent: "○" } : { ready: "+", notReady: "x", absent: "-" };
    return { json: agentList, text: (style) => agentsText(agentList, marks, style) };
  },
});

function agentsText(agentList: readonly AgentInfo[], marks: { ready: string; notReady: string; absent: string }, style: Style): string {
  const mark = ({ missing, installed }: AgentInfo) =>
    missing === null ? style.green(marks.ready) : installed ? style.yellow(marks.notReady) : style.dim(marks.absent);
  const rows = agentList.map((agent) => [mark(agent), ...cells(agent, style)]);
  const remarks = agentList.flatMap((agent) => (agent.missing === null ? noteTexts(agent, style) : [missingText(agent, style)]));
  return `${tableText(rows, { columns, paintTitle: style.dim })}${remarks.length > 0 ? "\n" : ""}${remarks.join("")}`;
}

const columns = [{}, { title: "AGENT" }, { title: "VERSION" }, { title: "CREDENTIAL" }, { title: "CAN" }, { title: "TRIED" }];

function cells(agent: AgentInfo, style: Style): string[] {
  const paint = agent.installed ? (text: string) => text : style.dim;
  const version = agent.installed ? (agent.version ?? "unknown") : "-";
  return [agent.name, version, credentialText(agent.credentials), abilityText(agent), trialText(agent)].map((text) =>
    paint(stripControls(text)),
  );
}

function credentialText(credentials: AgentCredential[]): string {
  const usable = credentials.filter(({ kind }) => kind !== "none");
  const sources = [...new Set(usable.flatMap(({ source }) => source ?? []))];
  if (sources.length > 2) return `${sources.slice(0, 2).join(", ")} and ${sources.length - 2} more`;
  return sources.length > 0 ? sources.join(", ") : usable.length > 0 ? "none needed" : "not set";
}

function abilityText({ can, installed }: AgentInfo): string {
  if (!installed) return "-";
  // Every agent accepts a role: as a setting of its own, else as the start of the prompt.
  const abilities = [can.resume ? "resume" : "", can.fork ? "fork" : "", can.efforts.length > 0 ? "effort" : "", "role"];
  return abilities.filter((ability) => ability !== "").join(", ");
}

function trialText({ kind, tried, testedVersion }: AgentInfo): string {
  if (kind === "preset") return testedVersion === null ? "untried preset" : `preset, with ${testedVersion}`;
  if (tried === null) return "-";
  return `${tried.works ? "works" : "broken"}, ${new Date(tried.at).toISOString().slice(0, 10)}`;
}

/** Notes about the sign-ins that a turn would use. */
function noteTexts({ name, installed, credentials }: AgentInfo, style: Style): string[] {
  const notes = new Set(credentials.flatMap(({ kind, note }) => (kind === "sign-in" && note !== null && installed ? [note] : [])));
  return [...notes].map((note) => `${stripControls(name)}: ${style.dim(stripControls(`its own sign-in; ${note}`))}\n`);
}

function missingText({ name, missing, hint }: AgentInfo, style: Style): string {
  return `${stripControls(name)}: ${stripControls(missing ?? "")}${hint === null ? "" : `; ${style.dim(stripControls(hint))}`}\n`;
}
