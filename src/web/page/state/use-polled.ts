// A value of the hub that a view reads again while it is shown: every few seconds, and at once after an action of the user. It
// is not read again while the page is in the background.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { problemText } from "../components/action.tsx";
import { usePage } from "../page-context.ts";

export type Polled<T> = {
  /** The last value that was read; null before. */
  value: T | null;
  /** Why the last attempt failed; null if it did not, or if the line was lost meanwhile. */
  problem: string | null;
  /** Reads it again now. */
  refresh: () => void;
};

/** Reads again when an entry of `inputs` changes. With `pollMs` null it reads only then. */
export function usePolled<T>(read: () => Promise<T>, inputs: readonly unknown[], pollMs: number | null): Polled<T> {
  const { line } = usePage();
  const [state, setState] = useState<{ value: T | null; problem: string | null }>({ value: null, problem: null });
  const latest = useRef(read);
  latest.current = read;
  const wake = useRef(() => {});
  const interval = useRef(pollMs);
  interval.current = pollMs;
  useEffect(() => {
    let isShown = true;
    const loop = async (): Promise<void> => {
      for (let isFirst = true; isShown; isFirst = false) {
        if (isFirst || document.visibilityState === "visible") {
          try {
            const value = await latest.current();
            if (isShown) setState({ value, problem: null });
          } catch (error) {
            if (isShown && line.state.get().status === "online") setState(({ value }) => ({ value, problem: problemText(error) }));
          }
        }
        await Promise.all([line.whenOnline(), nextTime(interval.current, (run) => (wake.current = run))]);
      }
    };
    void loop();
    const onVisible = () => wake.current();
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      isShown = false;
      document.removeEventListener("visibilitychange", onVisible);
      wake.current();
    };
  }, [line, ...inputs]);
  return useMemo(() => ({ ...state, refresh: () => wake.current() }), [state]);
}

function nextTime(ms: number | null, onWake: (wake: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    onWake(resolve);
    if (ms !== null) setTimeout(resolve, ms);
  });
}
