// Runs one member of a team, at most twice. An attempt succeeds only if the validation checks of the member pass.
// The member's work is committed in any case, so that a failed attempt is not lost.
import { cutText, oneLine } from "../../../kit/text/cut-text.ts";
import { messageOf, type TurnError, type TurnStatus } from "../../../protocol/api/error.ts";
import type { DelegateResult } from "../../../protocol/api/ports.ts";
import type { Role } from "../../../protocol/api/role.ts";
import { teamEventOf, failureReason, type MemberResult, type MemberRecord, type TeamEvent } from "../../../protocol/team/team.ts";
import { toCost, zeroSpent } from "../../../protocol/tree/usage.ts";
import { costText } from "../../../protocol/tree/usage-text.ts";
import { cancelledError, recordTeamEvent, memberAgent, memberRole, phaseBase, type TeamRun } from "./team-run.ts";
import { permanentStatuses, toTurnError } from "../../delegate-failure.ts";
import { deliveryText } from "../mail/classify-mail.ts";
import { memberEnvironment, mailDirectory } from "../team-paths.ts";
import { retryPrompt, findContextFile, memberPrompt } from "./member-prompt.ts";

const maxAnswerBytes = 4_000;
const maxSteps = 200;

/** Statuses after which a second attempt is useless. A refusal is one, because each attempt has the same task. */
const permanent: readonly TurnStatus[] = [...permanentStatuses, "refused"];

/** Resolves when the member has completed or failed for good. */
export async function runMember(run: TeamRun, member: MemberRecord): Promise<void> {
  const maxAttempts = member.attempts + 2;
  let unrecorded = await findUnrecordedEnd(run, member);
  while (run.halt === null) {
    if (unrecorded === null) await startAttempt(run, member);
    const attempt = member.attempts;
    const result = unrecorded ?? (await tryOnce(run, member));
    unrecorded = null;
    const ended = await finishAttempt(run, member, result);
    const eventData = { agent: member.id, attempt, ...ended };
    if (ended.status === "ok" && ended.unmet.length === 0) {
      const cost = ended.costUsd === null ? "" : `, ${costText(ended)}`;
      return recordTeamEvent(run, { event: "agent_completed", ...eventData }, `${member.id} completed${cost}\n${ended.answer}`);
    }
    run.halt ??= findHalt(run, result);
    const restarts = run.halt === null && attempt < maxAttempts && !permanent.includes(ended.status);
    const text = `${member.id} failed: ${oneLine(failureReason(ended), 500)}`;
    await recordTeamEvent(run, { event: "agent_failed", restarts, ...eventData }, text);
    if (!restarts) return;
  }
}

async function startAttempt(run: TeamRun, member: MemberRecord): Promise<void> {
  const attempt = member.attempts + 1;
  // The prompt of the first attempt contains the pending mail. Later mail is sent to the member's session, once per id.
  const messageIds = attempt === 1 ? run.mail.pendingMessages(member.id).map(({ id }) => id) : [];
  const choice = memberAgent(run, member.plan);
  const isChanged = choice.agent !== member.agent || choice.model !== member.model;
  const takenBy = isChanged ? { takenBy: choice } : {};
  const started: TeamEvent = { event: "agent_started", agent: member.id, attempt, given: messageIds, ...takenBy };
  await recordTeamEvent(run, started, `${member.id} starts${attempt > 1 ? `, attempt ${attempt}` : ""}`);
  run.mail.markSent(member.id, messageIds);
  run.mail.startTurn(member.id);
}

/**
 * The result of an attempt that succeeded, but was not recorded because the team's process was killed; null if there is none.
 * Such an attempt must not run again.
 */
async function findUnrecordedEnd({ input, context }: TeamRun, member: MemberRecord): Promise<AttemptResult | null> {
  if (member.state !== "running") return null;
  const startNode = input.path.findLast((node) => {
    const happened = teamEventOf(node);
    return happened?.event === "agent_started" && happened.agent === member.id;
  });
  const task = startNode === undefined ? null : await context.findFinishedTask(member.session, startNode.at);
  return task === null ? null : { status: "ok", error: null, ...task };
}

type AttemptResult = Pick<DelegateResult, "status" | "answer" | "spent"> & { error: TurnError | null };

async function tryOnce(run: TeamRun, member: MemberRecord): Promise<AttemptResult> {
  const { context, record, paths } = run;
  const role = memberRole(run, member.plan);
  const messages = record.messages.filter(({ id }) => member.given.includes(id));
  const memoryAbort = new AbortController();
  let stopReason: string | null = null;
  const unwatch = run.memoryWatch.watch({
    id: member.id,
    maxMemoryMb: role.maxMemoryMb,
    stop: (reason) => {
      stopReason ??= reason;
      memoryAbort.abort();
    },
  });
  try {
    const result = await context.delegate({
      ...delegateFields(run, member, role),
      task: memberPrompt({ team: record, member, role, paths, messages }),
      resumePrompt: retryPrompt(member),
      title: `${member.plan.key}: ${oneLine(member.plan.task, 200)}`,
      call: `member ${member.id}`,
      attachable: true,
      ...(role.tools === null ? {} : { tools: [...role.tools] }),
      team: { post: async (value) => deliveryText(await run.mail.post(member.id, value)) },
      limits: { maxSteps, timeoutMs: role.timeoutMs, ...(role.idleMs === null ? {} : { idleMs: role.idleMs }) },
      signal: AbortSignal.any([run.signal, memoryAbort.signal]),
    });
    if (stopReason !== null) return { ...result, status: "killed", error: { kind: "killed", message: stopReason } };
    return { ...result, error: result.error ?? null };
  } catch (error) {
    const problem = toTurnError(error);
    return { status: problem.kind, answer: "", spent: zeroSpent, error: problem };
  } finally {
    unwatch();
  }
}

/** The fields that attempts and checks of a member have in common. */
function delegateFields({ record, paths, input, deps }: TeamRun, { id, session, agent, model, ...member }: MemberRecord, role: Role) {
  const team = { team: record, project: input.project, paths, path: deps.path };
  return {
    session,
    agent,
    model,
    role: null,
    recordedRole: role.name,
    // A role can turn the network off if the policy has a sandbox.
    sandbox: role.net === "off" && input.policy.name !== "full" ? { network: false } : {},
    at: {
      directory: member.workspace.directory,
      allowWrite: [paths.shared, `${mailDirectory(paths, id)}/outbox`],
      env: memberEnvironment({ id, ...member }, role, team),
    },
  };
}

async function finishAttempt(run: TeamRun, member: MemberRecord, { status, answer, error, spent }: AttemptResult): Promise<MemberResult> {
  await run.mail.drain(member.id);
  const unmet = status === "ok" ? await unmetChecks(run, member) : [];
  // Files that git can't commit are a failure of this member, not of the team.
  const commit = await commitWork(run, member).catch((problem: unknown) => {
    unmet.push(`its work can't be committed: ${messageOf(problem)}`);
    return null;
  });
  return {
    status,
    error: error?.message ?? null,
    answer: cutText(answer, maxAnswerBytes, { keep: "both" }).text,
    commit,
    unmet,
    ...toCost(spent),
  };
}

async function commitWork(
  { deps, repository, record, emit }: TeamRun,
  { id, plan, phase, workspace }: MemberRecord,
): Promise<string | null> {
  const { directory, branch } = workspace;
  const from = phaseBase(record, phase);
  if (branch === null || from === null) return null;
  const author = { name: id, message: `${plan.key}: ${oneLine(plan.task, 60)}` };
  const { commit, problem } = await deps.workspaces.commit(repository, { directory, branch, from }, author);
  if (problem !== null) emit({ type: "warning.raised", message: `${id}: ${problem}` });
  return commit;
}

async function unmetChecks(run: TeamRun, member: MemberRecord): Promise<string[]> {
  const unmet: string[] = [];
  const lastReport = member.reports.findLast(({ report }) => report.type === "complete")?.report;
  if (lastReport?.type === "complete" && lastReport.result === "failure")
    unmet.push(`it reported a failure: ${oneLine(lastReport.summary, 200)}`);
  for (const check of member.plan.validation) {
    if (check.kind === "file") {
      if (findContextFile(check.path, [run.paths.shared, member.workspace.directory]) === null)
        unmet.push(`${check.path} is missing or empty`);
      continue;
    }
    const failure = await runCheck(run, member, check.command);
    if (failure !== null) unmet.push(failure);
  }
  return unmet;
}

/** Runs the command in the member's session, so that its next attempt sees the output. Returns the failure, or null. */
async function runCheck(run: TeamRun, member: MemberRecord, command: string): Promise<string | null> {
  const checking = run.context.delegate({
    ...delegateFields(run, member, memberRole(run, member.plan)),
    task: command,
    command,
    call: `check ${member.id}`,
    attachable: false,
    limits: { timeoutMs: 10 * 60_000 },
    signal: run.signal,
  });
  const result = await checking.catch((error: unknown) => ({ status: toTurnError(error).message, exitCode: null }));
  if (result.status === "ok" && result.exitCode === 0) return null;
  return `\`${oneLine(command, 120)}\` ${result.status === "ok" ? `exited with ${result.exitCode ?? "a signal"}` : result.status}`;
}

/** Returns the error that stops the whole team; null after a failure of only this member, such as its own limit. */
function findHalt({ context }: TeamRun, { status, error }: AttemptResult): TeamRun["halt"] {
  if (context.signal.aborted) return cancelledError;
  const budgetError = status === "budget" ? context.count(zeroSpent) : null;
  return budgetError === null ? null : (error ?? budgetError);
}
