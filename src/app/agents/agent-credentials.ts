// Adds to `auth status` the CLIs that would use another credential than the vendor's key. Contains names, no secrets.
import { vendorsOf } from "../../agents/external/adapters/multi-vendor.ts";
import { type CredentialSources, describeCredential } from "../../agents/external/credentials/find-credential.ts";
import { loadAdapters } from "../../agents/external/adapters/index.ts";
import type { AppContext } from "../app-context.ts";
import { findVendor } from "../../models/vendors.ts";
import type { VendorAuth, AgentAuth } from "../../protocol/api/api.ts";

export async function withAgentCredentials(ctx: AppContext, vendors: VendorAuth[]): Promise<VendorAuth[]> {
  const adapters = await loadAdapters();
  const sources = credentialSources(ctx);
  return vendors.map((auth) => {
    const agents = adapters
      .filter((adapter) => vendorsOf(adapter).includes(auth.vendor))
      .flatMap((adapter): AgentAuth[] => {
        const { kind, source, note } = describeCredential(adapter, sources, defaultModelOf(auth.vendor));
        return kind === "none" || source === (auth.source ?? "no key needed") ? [] : [{ agent: adapter.name, kind, source, note }];
      });
    return agents.length === 0 ? auth : { ...auth, agents };
  });
}

export function credentialSources({ env, paths, providers }: AppContext): CredentialSources {
  return { env, home: paths.home, config: (vendor) => providers[vendor] };
}

/** The full name of a vendor's default model. It selects the vendor of a CLI that works with several. */
export function defaultModelOf(vendor: string): string {
  return `${vendor}/${findVendor(vendor)?.defaultModel ?? ""}`;
}
