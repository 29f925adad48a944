// What a person or a program sees of running turns, and what it can say to them. Data only.
import type { Session, Turn } from "../tree/turn.ts";

/** A question that a turn waits on, or ended with. */
export type Ask = {
  id: string;
  session: string;
  turn: string;
  /** The tool call that asks; null when another agent's command line ended with a question. */
  call: string | null;
  question: string;
  /** Answers to choose from; any other text is an answer too. */
  options: string[];
  openedAt: number;
  /** When the turn stops waiting, later by the time it is paused; null: it waits for good, or has ended already. */
  expiresAt: number | null;
  closedAt: number | null;
  /** `left`: the conversation went on without an answer. */
  outcome: "answered" | "expired" | "left" | null;
  answer: string | null;
};

/** A message to a running turn that its agent has not been given yet. */
export type QueuedInput = { id: string; text: string; queuedAt: number };

/** `interrupted`: the process that ran it is gone, and nobody has recorded the end yet. */
export type TurnState = "running" | "paused" | "asking" | "interrupted" | "ended";

export type TurnInfo = {
  session: Session;
  turn: Turn;
  state: TurnState;
  /** The process that runs it; null when it has ended, or can't be seen from here. */
  pid: number | null;
  /** What it and all below it may still use; only of one that has not ended and has a budget. */
  left?: { tokens: number | null; costUsd: number | null };
};

export type PauseReport = {
  session: string;
  /** What it is now; `not-running` when there was nothing to pause or to let go on. */
  state: "running" | "paused" | "not-running";
  pid: number | null;
};

export type Health = { status: "healthy"; version: string; protocol: number; pid: number; startedAt: number; running: number };

/** Raised when a method changes its meaning; rows and fields are only ever added. */
export const protocolVersion = 1;
