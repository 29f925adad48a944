// One budget that several turns use at the same time.
import { describe, expect, test } from "bun:test";
import { createTestClock } from "../../kit/flow/fixtures/test-clock.ts";
import type { TurnError } from "../../protocol/api/error.ts";
import type { SettleReservation } from "../../protocol/api/ports.ts";
import type { Limits } from "../../protocol/api/turn-options.ts";
import { zeroUsage, type Spent } from "../../protocol/tree/usage.ts";
import { type BudgetAccount, openBudgetAccount } from "./budget.ts";

const unlimited: Limits = { maxSteps: 10, maxTokens: null, maxBudgetUsd: null, maxChildren: null, treeSteps: null };
const used = (input: number, costUsd: number | null = 0): Spent => ({ usage: { ...zeroUsage, input }, costUsd });

function createBudgetUser() {
  const controller = new AbortController();
  const stopped = Promise.withResolvers<TurnError>();
  return { signal: controller.signal, stop: stopped.resolve, stopped: stopped.promise, abort: () => controller.abort() };
}

function openAccount(limits: Partial<Limits>): BudgetAccount {
  return openBudgetAccount({ ...unlimited, ...limits }, createBudgetUser());
}

async function reserve(account: BudgetAccount, tokens = 0, costUsd = 0): Promise<SettleReservation> {
  const reservation = await account.reserve({ tokens, costUsd });
  if (typeof reservation !== "function") throw new Error(`refused: ${reservation.message}`);
  return reservation;
}

/** The result of a reservation, or "waits" if it is still pending. */
async function currentResult<T>(promise: Promise<T>): Promise<T | "waits"> {
  await Bun.sleep(0);
  return Promise.race([promise, Promise.resolve("waits" as const)]);
}

describe("sequential requests", () => {
  test("a request is granted while less than the limit is used, so a single one may exceed it", async () => {
    const turn = openAccount({ maxTokens: 100 });
    (await reserve(turn, 5000))(used(99));
    expect(turn.budget.remaining().tokens).toBe(1);
    (await reserve(turn, 5000))(used(30));
    expect(await turn.reserve({ tokens: 1, costUsd: 0 })).toMatchObject({
      kind: "budget",
      limit: "tokens",
      message: "the budget is used up: 129 of 100 tokens",
      hint: "raise --max-tokens and continue with `skein run --resume`",
    });
    expect(turn.budget.remaining().tokens).toBe(0);
    turn.leave();
  });

  test.each([
    ["tokens", { maxTokens: 10 }],
    ["money", { maxBudgetUsd: 0.5 }],
    ["steps", { treeSteps: 1 }],
  ] as const)("a turn gets no further request when its limit of %s is reached", async (limit, limits) => {
    const turn = openAccount(limits);
    (await reserve(turn))(used(10, 0.5));
    expect(await turn.reserve({ tokens: 0, costUsd: 0 })).toMatchObject({ limit });
    turn.leave();
  });

  test("cached input does not count, and known prices count even if another price is unknown", async () => {
    const turn = openAccount({ maxTokens: 10, maxBudgetUsd: 1 });
    (await reserve(turn))({ usage: { ...zeroUsage, cacheRead: 1_000_000 }, costUsd: null });
    (await reserve(turn))(used(1, 0.4));
    expect(turn.budget.remaining()).toMatchObject({ tokens: 9, costUsd: 0.6 });
    turn.leave();
  });

  test("a turn without limits is never refused, and its remaining budget is null", async () => {
    const turn = openAccount({});
    for (let index = 0; index < 100; index++) (await reserve(turn, 1e9, 1e9))(used(1e9, 1e9));
    expect(turn.budget.remaining()).toEqual({ tokens: null, costUsd: null, children: null });
    turn.leave();
  });

  test("a request that is settled twice is counted once", async () => {
    const turn = openAccount({ maxTokens: 100 });
    const settle = await reserve(turn);
    settle(used(10));
    settle(used(10));
    expect(turn.budget.remaining().tokens).toBe(90);
    turn.leave();
  });

  test("usage without a reservation is counted, and returns the limit that it reaches", () => {
    const turn = openAccount({ maxTokens: 100 });
    expect(turn.count(used(60))).toBeNull();
    expect(turn.count(used(60))).toMatchObject({ limit: "tokens" });
    turn.leave();
  });
});

describe("concurrent requests", () => {
  test("concurrent requests share the remaining budget, and the next one waits until one is settled", async () => {
    const turn = openAccount({ maxTokens: 100 });
    const first = await reserve(turn, 60);
    const second = await reserve(turn, 40);
    const third = turn.reserve({ tokens: 10, costUsd: 0 });
    const fourth = turn.reserve({ tokens: 60, costUsd: 0 });
    expect(await currentResult(third)).toBe("waits");
    first(used(20));
    expect(await currentResult(third)).toBeFunction();
    expect(await currentResult(fourth)).toBe("waits");
    second(used(20));
    expect(await currentResult(fourth)).toBe("waits");
    ((await third) as SettleReservation)(used(5));
    expect(await currentResult(fourth)).toBeFunction();
    ((await fourth) as SettleReservation)(used(55));
    expect(turn.budget.remaining().tokens).toBe(0);
    turn.leave();
  });

  test("concurrent requests with exact estimates exceed the limit by less than one request", async () => {
    for (let seed = 1; seed <= 50; seed++) {
      let state = seed;
      const random = (max: number) => 1 + ((state = (state * 48_271) % 2_147_483_647) % max);
      const turn = openAccount({ maxTokens: 1000 });
      let total = 0;
      const work = async (): Promise<void> => {
        const account = turn.openSubAccount(createBudgetUser());
        for (;;) {
          const tokens = random(200);
          const reservation = await account.reserve({ tokens, costUsd: 0 });
          if (typeof reservation !== "function") return account.leave();
          await Bun.sleep(0);
          total += tokens;
          reservation(used(tokens));
        }
      };
      await Promise.all(Array.from({ length: 20 }, work));
      expect(total).toBeGreaterThanOrEqual(1000);
      expect(total).toBeLessThan(1200);
      turn.leave();
    }
  });

  test("concurrent requests share a limit of money like one of tokens", async () => {
    const turn = openAccount({ maxBudgetUsd: 1 });
    const first = await reserve(turn, 0, 0.9);
    const second = turn.reserve({ tokens: 0, costUsd: 0.2 });
    expect(await currentResult(second)).toBe("waits");
    first(used(0, 1.1));
    expect(await second).toMatchObject({ limit: "money" });
    turn.leave();
  });

  test("a cancelled request stops waiting, and the next one is granted", async () => {
    const turn = openAccount({ maxTokens: 100 });
    const running = await reserve(turn, 90);
    const cancelled = createBudgetUser();
    const child = turn.openSubAccount(cancelled);
    const waiting = child.reserve({ tokens: 90, costUsd: 0 });
    const next = turn.reserve({ tokens: 20, costUsd: 0 });
    cancelled.abort();
    expect(await waiting).toMatchObject({ kind: "cancelled" });
    running(used(50));
    expect(await currentResult(next)).toBeFunction();
    child.leave();
    turn.leave();
  });
});

describe("a budget that is used up", () => {
  test("a used up budget stops a sub-session after its last request is counted", async () => {
    const turn = openAccount({ maxTokens: 100 });
    const [requesting, idle] = [createBudgetUser(), createBudgetUser()];
    const [requestingAccount, idleAccount] = [turn.openSubAccount(requesting), turn.openSubAccount(idle)];
    const settleLast = await reserve(requestingAccount, 40);
    (await reserve(idleAccount, 40))(used(100));
    expect(await idleAccount.reserve({ tokens: 1, costUsd: 0 })).toMatchObject({ limit: "tokens" });
    expect(await idle.stopped).toMatchObject({ kind: "budget" });
    expect(await currentResult(requesting.stopped)).toBe("waits");
    settleLast(used(40));
    expect(await requesting.stopped).toMatchObject({ kind: "budget" });
    for (const account of [requestingAccount, idleAccount, turn]) account.leave();
  });

  test("a used up budget stops the parent turn only after all its sub-sessions have ended", async () => {
    const parent = createBudgetUser();
    const clock = createTestClock();
    const turn = openBudgetAccount({ ...unlimited, maxTokens: 10 }, parent, clock);
    const child = turn.openSubAccount(createBudgetUser());
    (await reserve(child))(used(10));
    await child.reserve({ tokens: 1, costUsd: 0 });
    await clock.advance(1_100);
    expect(await currentResult(parent.stopped)).toBe("waits");
    child.leave();
    await clock.advance(1_000);
    expect(await parent.stopped).toMatchObject({ limit: "tokens" });
    turn.leave();
  });

  test("a used up budget allows no further sub-session", async () => {
    const turn = openAccount({ maxTokens: 10 });
    expect(turn.budget.takeSubSession()).toBeNull();
    (await reserve(turn))(used(10));
    expect(turn.budget.takeSubSession()).toMatchObject({ limit: "tokens" });
    turn.leave();
  });
});

test("sub-sessions are counted over the whole run, and refusing one does not stop the turn", async () => {
  const turn = openAccount({ maxChildren: 2 });
  expect([turn.budget.takeSubSession(), turn.budget.remaining().children]).toEqual([null, 1]);
  expect([turn.budget.takeSubSession(), turn.budget.remaining().children]).toEqual([null, 0]);
  expect(turn.budget.takeSubSession()).toMatchObject({ limit: "children", message: "the budget of 2 sub-sessions is used up" });
  expect(await turn.reserve({ tokens: 1, costUsd: 0 })).toBeFunction();
  turn.leave();
});
