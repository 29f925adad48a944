// Agents whose credential is not the vendor's own: they are signed in, or keep a key. For `auth status`, by name only.
import { vendorsOf } from "../../agents/external/adapters/multi-vendor.ts";
import { describeCredential } from "../../agents/external/credentials/credentials.ts";
import { adapters } from "../../agents/external/adapters/index.ts";
import type { AppContext } from "../create-app.ts";
import { findVendor } from "../../models/vendors.ts";
import type { VendorAuth, AgentAuth } from "../../protocol/api/api.ts";

export function withAgentCredentials(ctx: AppContext, rows: VendorAuth[]): VendorAuth[] {
  return rows.map((row) => {
    const agents = Object.values(adapters)
      .filter((adapter) => vendorsOf(adapter).includes(row.vendor))
      .flatMap((adapter): AgentAuth[] => {
        const model = `${row.vendor}/${findVendor(row.vendor)?.defaultModel ?? ""}`;
        const config = (name: string) => ctx.providers[name];
        const { kind, source, note } = describeCredential(adapter, ctx.env, ctx.paths.home, { model, config });
        return kind === "none" || source === (row.source ?? "no key needed") ? [] : [{ agent: adapter.name, kind, source, note }];
      });
    return agents.length === 0 ? row : { ...row, agents };
  });
}
