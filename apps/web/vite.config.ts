import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { REPORT_DIMENSIONS, REPORT_SUBJECTS } from '@recount/contract/reports/report-dimensions';
import { REPORT_PAGES } from '@recount/contract/reports/report-pages';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const toGzip = promisify(gzip);
const toBrotli = promisify(brotliCompress);
const MIN_COMPRESSED_BYTES = 1024;

/** Writes `.gz` and `.br` beside each file, which the server sends unchanged. */
const precompress = (): Plugin => ({
  name: 'precompress',
  apply: 'build',
  async writeBundle({ dir = '' }) {
    const entries = await readdir(dir, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && /\.(js|css|html|svg)$/.test(entry.name));
    for (const { parentPath, name } of files) {
      const path = join(parentPath, name);
      const bytes = await readFile(path);
      if (bytes.length < MIN_COMPRESSED_BYTES) continue;
      await writeFile(`${path}.gz`, await toGzip(bytes, { level: 9 }));
      // Quality 9: a first start waits for it, and 11 takes ten times as long to save a few percent.
      await writeFile(`${path}.br`, await toBrotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
    }
  },
});

const EVALUATED = { 'report-pages': { REPORT_PAGES }, 'report-dimensions': { REPORT_DIMENSIONS, REPORT_SUBJECTS } };

/** Leaves the schemas, columns and help of reports out of the dashboard, which needs only their pages and dimensions. */
const evaluateReports = (): Plugin => ({
  name: 'evaluate-reports',
  load: (id) => {
    const [, values] = Object.entries(EVALUATED).find(([file]) => id.endsWith(`/reports/${file}.ts`)) ?? [];
    if (values === undefined) return null;
    return Object.entries(values)
      .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`)
      .join('\n');
  },
});

/** Number of pages and later parts that import a module before it goes into the file that all of them share. */
const SHARED_BY_PAGES = 10;

/** `RECOUNT_URL` is the address of the API for `vite` (not `vite build`). */
const apiUrl = process.env.RECOUNT_URL ?? 'http://127.0.0.1:7878';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), evaluateReports(), precompress()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    // Beside the manifest: the licences of all libraries in the dashboard.
    license: true,
    rolldownOptions: {
      output: {
        // One file for what nearly all pages load: many small ones compress worse, and need a request each.
        codeSplitting: { groups: [{ name: 'shared', minShareCount: SHARED_BY_PAGES }] },
      },
    },
  },
  server: { proxy: { '/v1': apiUrl, '/signed-in': apiUrl } },
});
