// The address of a view is in the fragment: `#/<view>/<parts>`. A base path of a proxy so never matters to the page.
import { createStore } from "./state/store.ts";

export type Route = { view: string; parts: readonly string[] };

function currentRoute(): Route {
  const [view = "", ...parts] = location.hash.replace(/^#\/?/, "").split("/").map(decode);
  return { view: view === "" ? "inbox" : view, parts };
}

export const route = createStore<Route>(currentRoute());

/** Follows the address from now on. Called after the login, whose link is no address of a view. */
export function followAddress(): void {
  route.set(currentRoute());
  window.addEventListener("hashchange", () => route.set(currentRoute()));
}

export function goTo(view: string, ...parts: string[]): void {
  location.hash = addressOf(view, ...parts);
}

export function addressOf(view: string, ...parts: string[]): string {
  return `#/${[view === "inbox" ? "" : view, ...parts].map(encodeURIComponent).join("/")}`;
}

/** A broken escape in a typed address stays as it is. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
