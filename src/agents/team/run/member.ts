// One member from its place to its end: tried once, and once more where that can help. Its end counts only when what was
// to hold does hold. What it did is committed whatever became of it.
import { cutText, oneLine } from "../../../kit/text/cut-text.ts";
import { messageOf, type TurnError, type TurnStatus } from "../../../protocol/api/error.ts";
import type { DelegateRequest, DelegateResult } from "../../../protocol/api/ports.ts";
import type { Role } from "../../../protocol/api/role.ts";
import { teamEventOf, failureReason, type MemberResult, type MemberRecord, type TeamEvent } from "../../../protocol/team/team.ts";
import { zeroSpent } from "../../../protocol/tree/usage.ts";
import { cancelledEnd, recordTeamEvent, memberRole, phaseBase, toTurnError, type TeamRun } from "./team-run.ts";
import { deliveryText } from "../mail/classify-mail.ts";
import { memberEnvironment, mailDirectory } from "../team-paths.ts";
import { retryPrompt, findContextFile, memberPrompt } from "./member-prompt.ts";

const answerBytes = 4_000;
const memberSteps = 200;

/** What would be the same a moment later, or is for a person to decide. */
const lasting: readonly TurnStatus[] = [
  "auth",
  "not-installed",
  "sandbox-unavailable",
  "needs-input",
  "too-long",
  "cancelled",
  "budget",
  "refused",
];

/** Resolves when it has completed or failed for good. */
export async function runMember(run: TeamRun, member: MemberRecord): Promise<void> {
  const most = member.attempts + 2;
  let unseen = await findUnrecordedEnd(run, member);
  while (run.halt === null) {
    if (unseen === null) await begin(run, member);
    const attempt = member.attempts;
    const tried = unseen ?? (await tryOnce(run, member));
    unseen = null;
    const ended = await endOf(run, member, tried);
    const of = { agent: member.id, attempt, ...ended };
    if (ended.status === "ok" && ended.unmet.length === 0) {
      const cost = ended.costUsd === null ? "" : `, $${ended.costUsd.toFixed(4)}`;
      return recordTeamEvent(run, { event: "agent_completed", ...of }, `${member.id} completed${cost}\n${ended.answer}`);
    }
    run.halt ??= haltedBy(run, tried);
    const restarts = run.halt === null && attempt < most && !lasting.includes(ended.status);
    await recordTeamEvent(run, { event: "agent_failed", restarts, ...of }, `${member.id} failed: ${oneLine(failureReason(ended), 500)}`);
    if (!restarts) return;
  }
}

async function begin(run: TeamRun, member: MemberRecord): Promise<void> {
  const attempt = member.attempts + 1;
  // Once it has begun, its session is told what comes, each once by its id.
  const given = attempt === 1 ? run.mail.waitingFor(member.id).map(({ id }) => id) : [];
  const started: TeamEvent = { event: "agent_started", agent: member.id, attempt, given };
  await recordTeamEvent(run, started, `${member.id} begins${attempt > 1 ? `, try ${attempt}` : ""}`);
  run.mail.markGiven(member.id, given);
  run.mail.begin(member.id);
}

/** A try that had ended well before the process that led the team could record it: it is not to be made again. */
async function findUnrecordedEnd({ input, context }: TeamRun, member: MemberRecord): Promise<AttemptResult | null> {
  if (member.state !== "running") return null;
  const begun = input.path.findLast((node) => {
    const happened = teamEventOf(node);
    return happened?.event === "agent_started" && happened.agent === member.id;
  });
  const done = begun === undefined ? null : await context.findFinishedTask(member.session, begun.at);
  return done === null ? null : { status: "ok", error: null, ...done };
}

type AttemptResult = Pick<DelegateResult, "status" | "answer" | "spent"> & { error: TurnError | null };

async function tryOnce(run: TeamRun, member: MemberRecord): Promise<AttemptResult> {
  const { context, record, paths: place } = run;
  const role = memberRole(run, member.plan);
  const messages = record.messages.filter(({ id }) => member.given.includes(id));
  const own = new AbortController();
  let why: string | null = null;
  const unwatch = run.health.watch({
    id: member.id,
    maxMemoryMb: role.maxMemoryMb,
    stop: (reason) => {
      why ??= reason;
      own.abort();
    },
  });
  try {
    const result = await context.delegate({
      task: memberPrompt({ team: record, member, role, place, messages }),
      again: retryPrompt(member),
      title: `${member.plan.key}: ${oneLine(member.plan.task, 200)}`,
      call: `member ${member.id}`,
      session: member.session,
      agent: member.agent,
      model: member.model,
      role: null,
      attachable: true,
      sandbox: sandboxOf(run, role),
      ...(role.tools === null ? {} : { tools: [...role.tools] }),
      at: placeFor(run, member, role),
      team: { post: async (value) => deliveryText(await run.mail.post(member.id, value)) },
      limits: { maxSteps: memberSteps, timeoutMs: role.timeoutMs, ...(role.idleMs === null ? {} : { idleMs: role.idleMs }) },
      signal: AbortSignal.any([run.signal, own.signal]),
      onEvent: () => {},
    });
    if (why !== null) return { ...result, status: "killed", error: { kind: "killed", message: why } };
    return { ...result, error: result.error ?? null };
  } catch (error) {
    const problem = toTurnError(error);
    return { status: problem.kind, answer: "", spent: zeroSpent, error: problem };
  } finally {
    unwatch();
  }
}

/** A role can take the network away where there are walls to keep it off. */
function sandboxOf({ input }: TeamRun, { net }: Role): DelegateRequest["sandbox"] {
  return net === "off" && input.policy.name !== "full" ? { network: false } : {};
}

function placeFor({ record, paths: place, input, parts }: TeamRun, member: MemberRecord, role: Role) {
  const situation = { team: record.id, project: input.project, place, wish: record.wish, path: parts.path };
  return {
    directory: member.workspace.directory,
    allowWrite: [place.shared, `${mailDirectory(place, member.id)}/outbox`],
    env: memberEnvironment(member, role, situation),
  };
}

async function endOf(run: TeamRun, member: MemberRecord, { status, answer, error, spent }: AttemptResult): Promise<MemberResult> {
  await run.mail.drain(member.id);
  const unmet = status === "ok" ? await unmetChecks(run, member) : [];
  // It can have left files that git can't take: that is its own failure, not the team's.
  const commit = await commitOf(run, member).catch((problem: unknown) => {
    unmet.push(`its work can't be committed: ${messageOf(problem)}`);
    return null;
  });
  return {
    status,
    error: error?.message ?? null,
    answer: cutText(answer, answerBytes, { keep: "both" }).text,
    commit,
    unmet,
    costUsd: spent.costUsd,
  };
}

async function commitOf({ parts, repository, record }: TeamRun, { id, plan, phase, workspace }: MemberRecord): Promise<string | null> {
  const { directory, branch } = workspace;
  const from = phaseBase(record, phase);
  if (branch === null || from === null) return null;
  const by = { name: id, message: `${plan.key}: ${oneLine(plan.task, 60)}` };
  return parts.workspaces.commit(repository, { directory, branch, from }, by);
}

async function unmetChecks(run: TeamRun, member: MemberRecord): Promise<string[]> {
  const unmet: string[] = [];
  const last = member.reports.findLast(({ report }) => report.type === "complete")?.report;
  if (last?.type === "complete" && last.result === "failure") unmet.push(`it says itself that it failed: ${oneLine(last.summary, 200)}`);
  for (const check of member.plan.validation) {
    if (check.kind === "file") {
      if (findContextFile(check.path, [run.paths.shared, member.workspace.directory]) === null)
        unmet.push(`${check.path} is not there, or empty`);
      continue;
    }
    const failed = await commandFails(run, member, check.command);
    if (failed !== null) unmet.push(failed);
  }
  return unmet;
}

/** It runs in the member's own session, so that whoever goes on there sees what it printed. */
async function commandFails(run: TeamRun, member: MemberRecord, command: string): Promise<string | null> {
  const role = memberRole(run, member.plan);
  const checked = run.context.delegate({
    task: command,
    command,
    call: `check ${member.id}`,
    session: member.session,
    agent: member.agent,
    model: member.model,
    role: null,
    attachable: false,
    sandbox: sandboxOf(run, role),
    at: placeFor(run, member, role),
    limits: { timeoutMs: 10 * 60_000 },
    signal: run.signal,
    onEvent: () => {},
  });
  const result = await checked.catch((error: unknown) => ({ status: toTurnError(error).message, exitCode: null }));
  if (result.status === "ok" && result.exitCode === 0) return null;
  return `\`${oneLine(command, 120)}\` ${result.status === "ok" ? `exited with ${result.exitCode ?? "a signal"}` : result.status}`;
}

/** A member can reach a limit of its own; only one of the whole team stops the others. */
function haltedBy({ context }: TeamRun, { status, error }: AttemptResult): TeamRun["halt"] {
  if (context.signal.aborted) return cancelledEnd;
  const over = status === "budget" ? context.count(zeroSpent) : null;
  return over === null ? null : { status: "budget", error: error ?? over };
}
