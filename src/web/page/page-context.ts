// Everything that a view may use of the page: the line to the hub, and the way to other views.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Line } from "./connection/line.ts";

export type PageContext = {
  line: Line;
  /** The directory in which `skein web` was called last; null if it is not known. */
  directory: string | null;
};

export const PageContextProvider = createContext<PageContext | null>(null);

export function usePage(): PageContext {
  const context = useContext(PageContextProvider);
  if (context === null) throw new Error("a view was rendered outside of the page");
  return context;
}
