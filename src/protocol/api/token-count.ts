// Types of the token count of a project.
import type { MethodParams } from "./api.ts";

export type { TokenCount } from "../schema/results.ts";
export type CountTokensParams = MethodParams<"tokens.count">;
