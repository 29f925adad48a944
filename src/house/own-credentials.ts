// Agents whose credential is not the vendor's own: they are signed in, or keep a key. For `auth status`, by name only.
import { vendorsOf } from "../agents/external/any-vendor.ts";
import { credentialOf } from "../agents/external/credentials.ts";
import { adapters } from "../agents/external/index.ts";
import type { Ground } from "../house.ts";
import { vendorNamed } from "../models/providers.ts";
import type { AuthRow, OwnCredential } from "../protocol/api.ts";

export function withAgents(ground: Ground, rows: AuthRow[]): AuthRow[] {
  return rows.map((row) => {
    const agents = Object.values(adapters)
      .filter((adapter) => vendorsOf(adapter).includes(row.vendor))
      .flatMap((adapter): OwnCredential[] => {
        const model = `${row.vendor}/${vendorNamed(row.vendor)?.defaultModel ?? ""}`;
        const config = (name: string) => ground.providers[name];
        const { kind, source, note } = credentialOf(adapter, ground.env, ground.paths.home, { model, config });
        return kind === "none" || source === (row.source ?? "no key needed") ? [] : [{ agent: adapter.name, kind, source, note }];
      });
    return agents.length === 0 ? row : { ...row, agents };
  });
}
