// A button that calls the hub. It can't be pressed twice, and it shows why a call failed.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { useKeys, type KeyBinding } from "../keys.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";

type ActionProps = {
  /** Throws if the call failed. */
  run: () => Promise<unknown>;
  children: ComponentChildren;
  label?: string;
  tone?: "primary" | "danger" | "plain";
  isDisabled?: boolean;
  /** Enter in a field of its form presses it. */
  isSubmit?: boolean;
  /** A key that presses it, and the line about it in the help. */
  shortcut?: Pick<KeyBinding, "keys" | "summary">;
};

const noKeys: readonly KeyBinding[] = [];

export function Action({ run, children, label, tone = "plain", isDisabled = false, isSubmit = false, shortcut }: ActionProps) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const press = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await run();
    } catch (error) {
      setProblem(problemText(error));
    } finally {
      setBusy(false);
    }
  };
  const latest = useRef(press);
  latest.current = press;
  const isPressable = !isBusy && !isDisabled;
  const { keys, summary } = shortcut ?? {};
  useKeys(
    useMemo(
      () => (keys === undefined || !isPressable ? noKeys : [{ keys, summary: summary ?? "", run: () => void latest.current() }]),
      [keys, summary, isPressable],
    ),
  );
  return (
    <>
      <button
        type={isSubmit ? "submit" : "button"}
        class={`button ${tone}`}
        disabled={!isPressable}
        aria-label={label}
        aria-keyshortcuts={keys}
        title={keys === undefined ? undefined : `key: ${keys}`}
        onClick={() => void press()}
      >
        {children}
      </button>
      {problem !== null && <Problem text={problem} />}
    </>
  );
}

export function Problem({ text }: { text: string }) {
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

/** The message of a failed call, with the hint about what to do. */
export function problemText(error: unknown): string {
  const hint = error instanceof Fault ? error.hint : undefined;
  if (error instanceof Fault && error.code === "connection-lost")
    return "the connection was lost; look whether the action was carried out before you repeat it";
  return hint === undefined ? messageOf(error) : `${messageOf(error)} (${hint})`;
}
