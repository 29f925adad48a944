// For agents that can ask any vendor: whose a model is, under which name they know that vendor, and how their requests
// are led to an endpoint. Only the three vendors with a wire of their own; everything else is taken for the first.
import { findVendor } from "../../../models/vendors.ts";
import type { Adapter, CliLaunch } from "./adapter.ts";

export type VendorRoute = Pick<Adapter, "vendor" | "wire"> & {
  /** What pi and opencode call the vendor. */
  provider: string;
  /** Where its API begins below the endpoint. */
  path: string;
  /** The variable in which both look for its key. */
  keyVariable: string;
};

const routes: readonly [VendorRoute, ...VendorRoute[]] = [
  { vendor: "anthropic", wire: "anthropic", provider: "anthropic", path: "/v1", keyVariable: "ANTHROPIC_API_KEY" },
  { vendor: "openai", wire: "openai-responses", provider: "openai", path: "/v1", keyVariable: "OPENAI_API_KEY" },
  { vendor: "gemini", wire: "gemini", provider: "google", path: "/v1beta", keyVariable: "GEMINI_API_KEY" },
];

export const vendorKeyVariables: readonly string[] = routes.map((route) => route.keyVariable);

/** Whose models an agent can ask. */
export function vendorsOf(adapter: Adapter): string[] {
  return adapter.vendorOf === undefined ? [adapter.vendor] : routes.map((route) => route.vendor);
}

export function vendorRoute(model: string | null): VendorRoute {
  const own = model === null ? undefined : routes.find((route) => findVendor(route.vendor)?.ids?.test(model));
  return own ?? routes[0];
}

/** What is told to a CLI that has no flag for directories: the role, and where else it may work. */
export function instructionsOf(launch: CliLaunch): string {
  const dirs = launch.addDirs.length === 0 ? "" : `Besides the working directory you may work in: ${launch.addDirs.join(", ")}`;
  return [launch.role ?? "", dirs].filter((text) => text !== "").join("\n\n");
}

/** Named by what it says: turns of one tree share the directory, and may run at once with other roles. */
export function instructionsFile(launch: CliLaunch): string {
  return `instructions-${Bun.hash(instructionsOf(launch)).toString(36)}.md`;
}
