// Types of race views.
import type { Api } from "../api/api.ts";

export type * from "../schema/race/race-views.ts";

export type RaceApi = Api["race"];
