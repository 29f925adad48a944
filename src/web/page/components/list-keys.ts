// Keys for a list: j and k move between elements with `data-row`, Enter opens the one in focus.
import { useMemo } from "preact/hooks";
import { useKeys } from "../keys.ts";

export function useListKeys(): void {
  const keys = useMemo(
    () => [
      { keys: "j", summary: "next entry", run: () => move(1) },
      { keys: "k", summary: "previous entry", run: () => move(-1) },
    ],
    [],
  );
  useKeys(keys);
}

function move(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  const current = rows.indexOf(document.activeElement as HTMLElement);
  const next = current < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(current + by, 0), rows.length - 1);
  rows[next]?.focus();
}
