// The report of `skein doctor --agents`: one row per installed agent, one column per trial check.
import { trialCheckNames, type AgentsReport, type AgentTrial, type TrialCheck, type TrialCheckName } from "../../protocol/api/agents.ts";
import { stripControls, type Style } from "../terminal/style.ts";
import { itemTable, type ItemColumn } from "../terminal/table.ts";

const titles: Record<TrialCheckName, string> = {
  tools: "TOOLS",
  model: "MODEL",
  resume: "RESUME",
  fork: "FORK",
  "bad-key": "KEY",
  "rate-limit": "LIMIT",
  kill: "KILL",
};

export function agentsReportText(report: AgentsReport, style: Style, unicode: boolean): string {
  // `none`: the agent does not support it. `untried`: skipped after an earlier failure.
  const marks = unicode ? { ok: "✓", failed: "✗", none: "–", untried: "·" } : { ok: "+", failed: "x", none: "-", untried: "." };
  const mark = ({ outcome }: TrialCheck): string => {
    if (outcome === "ok") return style.green(marks.ok);
    return outcome === "failed" ? style.red(marks.failed) : style.dim(marks[outcome]);
  };
  const checkColumn = (name: TrialCheckName): ItemColumn<AgentTrial> => {
    const cell = ({ checks }: AgentTrial) => checks.flatMap((check) => (check.name === name ? mark(check) : [])).join("");
    return { title: titles[name], cell };
  };
  const columns: ItemColumn<AgentTrial>[] = [
    { title: "AGENT", cell: ({ agent }) => stripControls(agent) },
    { title: "VERSION", cell: ({ version }) => stripControls(version ?? "unknown") },
    ...trialCheckNames.map(checkColumn),
    { title: "TIME", align: "right", cell: ({ durationMs }) => `${(durationMs / 1000).toFixed(1)} s` },
  ];
  const table = itemTable(report.agents, columns, { paintTitle: style.dim });
  const problems = report.agents.flatMap((trial) => problemLines(trial, style));
  const notInstalled = report.notInstalled.map(({ agent, hint, refused }) =>
    style.dim(stripControls(`${agent} is not installed: ${refused === null ? "" : `${refused}; `}${hint}`)),
  );
  const remarks = [...problems, ...notInstalled].map((line) => `${line}\n`).join("");
  return `${table}${remarks === "" || table === "" ? remarks : `\n${remarks}`}\n${verdictText(report, style)}\n`;
}

function problemLines(trial: AgentTrial, style: Style): string[] {
  const failed = trial.checks.filter(({ outcome }) => outcome === "failed");
  return failed.map(({ name, detail }) => {
    const consequence = name === "resume" || name === "fork" ? "; skein sends it the conversation so far instead" : "";
    return `${style.red(`${stripControls(trial.agent)}, ${titles[name].toLowerCase()}:`)} ${stripControls(detail ?? "")}${consequence}`;
  });
}

function verdictText({ agents }: AgentsReport, style: Style): string {
  if (agents.length === 0) return "only the native agent is installed";
  const broken = agents.filter((trial) => !trial.works).map((trial) => stripControls(trial.agent));
  if (broken.length === 0) return `${style.green("all work")}: ${agents.map((trial) => stripControls(trial.agent)).join(", ")}`;
  return `${style.red("broken")}: ${broken.join(", ")}`;
}
