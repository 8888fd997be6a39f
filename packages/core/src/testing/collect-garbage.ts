// biome-ignore lint/style/noRestrictedImports: test support, not part of the package.
import { setFlagsFromString } from 'node:v8';
// biome-ignore lint/style/noRestrictedImports: test support, not part of the package.
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Collects all garbage, that of finished promises included. */
export async function collectGarbage(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  collect();
}
