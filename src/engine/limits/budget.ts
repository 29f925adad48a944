// The shared budget of a turn and its sub-sessions: tokens, money, steps and sub-sessions. A request reserves its estimate
// before it is sent, so that parallel requests exceed a limit no more than a single one would.
import { type TurnError, budgetUsedUp } from "../../protocol/api/error.ts";
import { type Clock, systemClock } from "../../kit/flow/clock.ts";
import { pluralize } from "../../kit/text/cut-text.ts";
import type { RemainingBudget, UsageEstimate, SettleReservation } from "../../protocol/api/ports.ts";
import type { Limits } from "../../protocol/api/turn-options.ts";
import { dollarsText } from "../../protocol/tree/usage-text.ts";
import { countedTokens, type Spent } from "../../protocol/tree/usage.ts";

/** A turn that uses the budget. */
export type BudgetUser = { signal: AbortSignal; stop: (error: TurnError) => void };

type Reservation = TurnError | SettleReservation;
type QueuedRequest = { account: BudgetAccount; estimate: UsageEstimate; answer: (reservation: Reservation) => void };

/** Time for a turn to finish with its last answer once the budget is used up. */
const graceMs = 1000;

class Budget {
  readonly accounts = new Set<BudgetAccount>();
  /** The limit that was reached. From then on every request is refused. */
  reachedLimit: TurnError | null = null;
  readonly #limits: Limits;
  readonly #running = new Set<UsageEstimate>();
  readonly #queue: QueuedRequest[] = [];
  readonly #used = { tokens: 0, costUsd: 0, steps: 0, children: 0 };
  readonly clock: Clock;

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits;
    this.clock = clock;
  }

  /** Resolves when the request may be sent, or with the error of a reached limit. */
  reserve(account: BudgetAccount, estimate: UsageEstimate): Promise<Reservation> {
    const { promise, resolve } = Promise.withResolvers<Reservation>();
    const request = { account, estimate, answer: resolve };
    this.#queue.push(request);
    this.#serve();
    const { signal } = account;
    const onAbort = (): void => {
      const index = this.#queue.indexOf(request);
      if (index >= 0) this.#queue.splice(index, 1);
      resolve({ kind: "cancelled", message: "the turn was stopped" });
    };
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort);
    return promise.finally(() => signal.removeEventListener("abort", onAbort));
  }

  count(spent: Spent): void {
    this.#used.tokens += countedTokens(spent.usage);
    // An unknown price counts as 0, and must not make the sum unknown.
    this.#used.costUsd += spent.costUsd ?? 0;
  }

  /** Takes the slot of a sub-session. Returns the error of a limit that is reached; null if none. */
  takeSubSession(): TurnError | null {
    const { maxChildren } = this.#limits;
    const reachedLimit = this.reachedLimit ?? this.findReachedLimit();
    if (reachedLimit !== null) return reachedLimit;
    if (maxChildren !== null && this.#used.children >= maxChildren)
      return { ...budgetUsedUp("children", ""), message: `the budget of ${pluralize(maxChildren, "sub-session")} is used up` };
    this.#used.children += 1;
    return null;
  }

  /** Returns the slot of a sub-session that could not start. */
  returnSubSession(): void {
    this.#used.children -= 1;
  }

  remaining(): RemainingBudget {
    const { maxTokens, maxBudgetUsd, maxChildren } = this.#limits;
    const remaining = (limit: number | null, used: number) => (limit === null ? null : Math.max(0, limit - used));
    const { tokens, costUsd, children } = this.#used;
    return { tokens: remaining(maxTokens, tokens), costUsd: remaining(maxBudgetUsd, costUsd), children: remaining(maxChildren, children) };
  }

  findReachedLimit(): TurnError | null {
    const { maxTokens, maxBudgetUsd, treeSteps } = this.#limits;
    const { tokens, costUsd, steps } = this.#used;
    if (treeSteps !== null && steps >= treeSteps) return budgetUsedUp("steps", `${treeSteps} steps`);
    if (maxTokens !== null && tokens >= maxTokens) return budgetUsedUp("tokens", `${tokens} of ${maxTokens} tokens`);
    if (maxBudgetUsd !== null && costUsd >= maxBudgetUsd)
      return budgetUsedUp("money", `${dollarsText(costUsd)} of ${dollarsText(maxBudgetUsd)}`);
    return null;
  }

  /** Serves requests in order. A request that does not fit waits until the running requests are counted. */
  #serve(): void {
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      const reachedLimit = this.reachedLimit ?? this.findReachedLimit();
      if (reachedLimit === null && this.#running.size > 0 && !this.#fits(first.estimate)) return;
      this.#queue.shift();
      first.answer(reachedLimit === null ? this.#begin(first) : this.#close(reachedLimit));
    }
  }

  #fits(estimate: UsageEstimate): boolean {
    const estimates = [...this.#running, estimate];
    const { maxTokens, maxBudgetUsd } = this.#limits;
    const tokens = estimates.reduce((sum, { tokens: count }) => sum + count, this.#used.tokens);
    const costUsd = estimates.reduce((sum, { costUsd: cost }) => sum + (cost ?? 0), this.#used.costUsd);
    return tokens <= (maxTokens ?? Infinity) && costUsd <= (maxBudgetUsd ?? Infinity);
  }

  #begin({ account, estimate }: QueuedRequest): SettleReservation {
    this.#used.steps += 1;
    this.#running.add(estimate);
    account.begin();
    return (spent) => {
      if (!this.#running.delete(estimate)) return;
      this.count(spent);
      account.end();
      this.#serve();
    };
  }

  #close(reachedLimit: TurnError): TurnError {
    this.reachedLimit = reachedLimit;
    for (const account of this.accounts) account.stopIfIdle();
    return reachedLimit;
  }
}

/** The account of one turn in the budget of its run. */
export class BudgetAccount {
  readonly signal: AbortSignal;
  /** Shared with the other turns of the run. */
  readonly budget: Budget;
  readonly #parent: BudgetAccount | null;
  readonly #stop: BudgetUser["stop"];
  /** Requests and sub-sessions that are not counted yet. */
  #open = 0;
  #cancelStop: (() => void) | null = null;

  constructor(budget: Budget, parent: BudgetAccount | null, user: BudgetUser) {
    this.budget = budget;
    this.#parent = parent;
    this.signal = user.signal;
    this.#stop = user.stop;
    budget.accounts.add(this);
    parent?.begin();
  }

  openSubAccount(user: BudgetUser): BudgetAccount {
    return new BudgetAccount(this.budget, this, user);
  }

  reserve(estimate: UsageEstimate): Promise<Reservation> {
    return this.budget.reserve(this, { ...estimate });
  }

  /** Counts usage that was not reserved. Returns the error of the limit that it reaches; null if none. */
  count(spent: Spent): TurnError | null {
    this.budget.count(spent);
    return this.budget.reachedLimit ?? this.budget.findReachedLimit();
  }

  begin(): void {
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
    this.stopIfIdle();
  }

  /** Stops the turn if the budget is used up and none of its requests runs any more. */
  stopIfIdle(): void {
    const { reachedLimit } = this.budget;
    if (reachedLimit === null || this.#open > 0) return;
    this.#cancelStop ??= this.budget.clock.setTimer(graceMs, () => this.#stop(reachedLimit));
  }

  leave(): void {
    this.#cancelStop?.();
    this.budget.accounts.delete(this);
    this.#parent?.end();
  }
}

/** Opens the budget of a turn without a parent. */
export function openBudgetAccount(limits: Limits, user: BudgetUser, clock: Clock = systemClock): BudgetAccount {
  return new BudgetAccount(new Budget(limits, clock), null, user);
}
