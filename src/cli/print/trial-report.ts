// The report of `skein doctor --agents`: one row per installed agent, one column per trial check.
import { trialCheckNames, type AgentsReport, type AgentTrial, type TrialCheck, type TrialCheckName } from "../../protocol/api/agents.ts";
import { stripControls, type Style } from "../terminal/style.ts";
import { tableText } from "../terminal/table.ts";

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
  const marks = unicode ? { ok: "✓", failed: "✗", none: "–", untried: "·" } : { ok: "+", failed: "x", none: "-", untried: "." };
  const cell = ({ outcome }: TrialCheck): string => {
    if (outcome === "ok") return style.green(marks.ok);
    return outcome === "failed" ? style.red(marks.failed) : style.dim(marks[outcome]);
  };
  const rows = report.agents.map((trial) => [
    stripControls(trial.agent),
    stripControls(trial.version ?? "unknown"),
    ...trialCheckNames.map((name) =>
      trial.checks
        .filter((check) => check.name === name)
        .map(cell)
        .join(""),
    ),
    secondsText(trial.durationMs),
  ]);
  const columns = [
    { title: "AGENT" },
    { title: "VERSION" },
    ...trialCheckNames.map((name) => ({ title: titles[name] })),
    { title: "TIME", align: "right" as const },
  ];
  const problems = report.agents.flatMap((trial) => problemLines(trial, style));
  const notInstalled = report.notInstalled.map(({ agent, hint }) =>
    style.dim(`${stripControls(agent)} is not installed: ${stripControls(hint)}`),
  );
  const remarks = [...problems, ...notInstalled].map((line) => `${line}\n`).join("");
  return `${tableText(rows, { columns, paintTitle: style.dim })}${remarks === "" || rows.length === 0 ? remarks : `\n${remarks}`}\n${verdictText(report, style)}\n`;
}

function problemLines(trial: AgentTrial, style: Style): string[] {
  const failed = trial.checks.filter(({ outcome }) => outcome === "failed");
  return failed.map(({ name, detail }) => {
    const instead = name === "resume" || name === "fork" ? "; it gets the conversation so far instead" : "";
    return `${style.red(`${stripControls(trial.agent)}, ${titles[name].toLowerCase()}:`)} ${stripControls(detail ?? "")}${instead}`;
  });
}

function verdictText({ agents }: AgentsReport, style: Style): string {
  if (agents.length === 0) return "only the native agent is installed";
  const broken = agents.filter((trial) => !trial.works).map((trial) => stripControls(trial.agent));
  if (broken.length === 0) return `${style.green("all work")}: ${agents.map((trial) => stripControls(trial.agent)).join(", ")}`;
  return `${style.red("broken")}: ${broken.join(", ")}`;
}

function secondsText(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
