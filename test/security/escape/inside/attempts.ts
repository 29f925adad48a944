// All attempts, in their order. Those that could disturb others come last.
import { changes } from "./change.ts";
import { kernelAttempts } from "./kernel.ts";
import { projectAttempts } from "./project.ts";
import { reaches } from "./reach.ts";
import { secrets } from "./secrets.ts";
import { works } from "./works.ts";
import type { Attempt } from "./world.ts";

export const attempts: readonly Attempt[] = [...works, ...changes, ...secrets, ...reaches, ...kernelAttempts, ...projectAttempts];
