// What a turn and everything below it may use together: tokens, money, steps and sub-sessions. A request has room reserved
// before it is sent, so that many at once go past a limit by no more than one alone would.
import { type TurnError, budgetUsedUp } from "../../protocol/api/error.ts";
import { type Clock, systemClock } from "../../kit/flow/clock.ts";
import { pluralize } from "../../kit/text/cut-text.ts";
import type { RemainingBudget, UsageEstimate, SettleReservation } from "../../protocol/api/ports.ts";
import type { Limits } from "../../protocol/api/turn-options.ts";
import { countedTokens, type Spent } from "../../protocol/tree/usage.ts";

/** A turn that draws on the budget. */
export type BudgetUser = { signal: AbortSignal; stop: (why: TurnError) => void };

type Reservation = TurnError | SettleReservation;
type Waiting = { account: BudgetAccount; estimate: UsageEstimate; answer: (room: Reservation) => void };

/** How long what runs has to say what it made of its last answer, once the budget is used up. */
const graceMs = 1000;

class Budget {
  readonly accounts = new Set<BudgetAccount>();
  /** The limit that was reached: nothing more is let through. */
  over: TurnError | null = null;
  readonly #limits: Limits;
  readonly #running = new Set<UsageEstimate>();
  readonly #waiting: Waiting[] = [];
  readonly #used = { tokens: 0, costUsd: 0, steps: 0, children: 0 };
  readonly clock: Clock;

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits;
    this.clock = clock;
  }

  reserve(account: BudgetAccount, estimate: UsageEstimate): Promise<Reservation> {
    const { promise, resolve } = Promise.withResolvers<Reservation>();
    const waiting = { account, estimate, answer: resolve };
    this.#waiting.push(waiting);
    this.#serve();
    const { signal } = account;
    const giveUp = (): void => {
      const at = this.#waiting.indexOf(waiting);
      if (at >= 0) this.#waiting.splice(at, 1);
      resolve({ kind: "cancelled", message: "the turn was stopped" });
    };
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp);
    return promise.finally(() => signal.removeEventListener("abort", giveUp));
  }

  count(spent: Spent): void {
    this.#used.tokens += countedTokens(spent.usage);
    // A request of unknown price must not make the others free.
    this.#used.costUsd += spent.costUsd ?? 0;
  }

  takeSubSession(): TurnError | null {
    const { maxChildren } = this.#limits;
    const over = this.over ?? this.reached();
    if (over !== null) return over;
    if (maxChildren !== null && this.#used.children >= maxChildren)
      return { ...budgetUsedUp("children", ""), message: `the budget of ${pluralize(maxChildren, "sub-session")} is used up` };
    this.#used.children += 1;
    return null;
  }

  /** One that was taken and did not begin. */
  returnSubSession(): void {
    this.#used.children -= 1;
  }

  left(): RemainingBudget {
    const { maxTokens, maxBudgetUsd, maxChildren } = this.#limits;
    const rest = (limit: number | null, used: number) => (limit === null ? null : Math.max(0, limit - used));
    const { tokens, costUsd, children } = this.#used;
    return { tokens: rest(maxTokens, tokens), costUsd: rest(maxBudgetUsd, costUsd), children: rest(maxChildren, children) };
  }

  reached(): TurnError | null {
    const { maxTokens, maxBudgetUsd, treeSteps } = this.#limits;
    const { tokens, costUsd, steps } = this.#used;
    if (treeSteps !== null && steps >= treeSteps) return budgetUsedUp("steps", `${treeSteps} steps`);
    if (maxTokens !== null && tokens >= maxTokens) return budgetUsedUp("tokens", `${tokens} of ${maxTokens} tokens`);
    if (maxBudgetUsd !== null && costUsd >= maxBudgetUsd) return budgetUsedUp("money", `$${costUsd.toFixed(4)} of $${maxBudgetUsd}`);
    return null;
  }

  /** Whoever came first is first; what does not fit beside the requests that run waits until they are counted. */
  #serve(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const over = this.over ?? this.reached();
      if (over === null && this.#running.size > 0 && !this.#fits(first.estimate)) return;
      this.#waiting.shift();
      first.answer(over === null ? this.#begin(first) : this.#close(over));
    }
  }

  #fits(estimate: UsageEstimate): boolean {
    const all = [...this.#running, estimate];
    const { maxTokens, maxBudgetUsd } = this.#limits;
    const tokens = all.reduce((sum, each) => sum + each.tokens, this.#used.tokens);
    const costUsd = all.reduce((sum, each) => sum + (each.costUsd ?? 0), this.#used.costUsd);
    return tokens <= (maxTokens ?? Infinity) && costUsd <= (maxBudgetUsd ?? Infinity);
  }

  #begin({ account, estimate }: Waiting): SettleReservation {
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

  #close(over: TurnError): TurnError {
    this.over = over;
    for (const account of this.accounts) account.rest();
    return over;
  }
}

/** One turn's part in the budget of the run it belongs to. */
export class BudgetAccount {
  readonly signal: AbortSignal;
  readonly #budget: Budget;
  readonly #above: BudgetAccount | null;
  readonly #stop: BudgetUser["stop"];
  /** Requests and sub-sessions that are still to be counted. */
  #open = 0;
  #cancelStop: (() => void) | null = null;

  constructor(budget: Budget, above: BudgetAccount | null, drawer: BudgetUser) {
    this.#budget = budget;
    this.#above = above;
    this.signal = drawer.signal;
    this.#stop = drawer.stop;
    budget.accounts.add(this);
    above?.begin();
  }

  openSubAccount(drawer: BudgetUser): BudgetAccount {
    return new BudgetAccount(this.#budget, this, drawer);
  }

  reserve(estimate: UsageEstimate): Promise<Reservation> {
    return this.#budget.reserve(this, { ...estimate });
  }

  /** What was used without having been reserved; the limit that this reaches comes back. */
  count(spent: Spent): TurnError | null {
    this.#budget.count(spent);
    return this.#budget.over ?? this.#budget.reached();
  }

  takeSubSession(): TurnError | null {
    return this.#budget.takeSubSession();
  }

  returnSubSession(): void {
    this.#budget.returnSubSession();
  }

  left(): RemainingBudget {
    return this.#budget.left();
  }

  begin(): void {
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
    this.rest();
  }

  /** Once nothing more can be asked, what still runs is stopped; the requests on their way are waited for. */
  rest(): void {
    const { over } = this.#budget;
    if (over === null || this.#open > 0) return;
    this.#cancelStop ??= this.#budget.clock.setTimer(graceMs, () => this.#stop(over));
  }

  leave(): void {
    this.#cancelStop?.();
    this.#budget.accounts.delete(this);
    this.#above?.end();
  }
}

/** For a turn with nothing above it. */
export function openBudgetAccount(limits: Limits, drawer: BudgetUser, clock: Clock = systemClock): BudgetAccount {
  return new BudgetAccount(new Budget(limits, clock), null, drawer);
}
