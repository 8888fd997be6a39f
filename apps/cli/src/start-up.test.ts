import { execFile } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { PROJECT_DIRECTORY } from './terminal/cli-context.ts';

/** Prints the paths of all loaded modules, one line each, on stderr. */
const LISTING = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) { console.error('loaded ' + url); return next(url, context); } });
`)}`;

async function listModules(...words: string[]): Promise<string[]> {
  const program = [`${PROJECT_DIRECTORY}/apps/cli/bin/recount.mjs`, ...words];
  const env = { ...process.env, RECOUNT_SERVER: 'http://127.0.0.1:1', RECOUNT_API_KEY: 'rk_x' };
  const { stderr } = await promisify(execFile)(process.execPath, ['--import', LISTING, ...program], { env }).catch(
    (error: { stderr: string }) => error,
  );
  const root = `${pathToFileURL(PROJECT_DIRECTORY)}/`;
  return [...stderr.matchAll(/^loaded (.*)$/gm)].map(([, url = '']) => url.replace(root, ''));
}

/** Each takes longer to load than everything that a report needs. */
const HEAVY =
  /^packages\/(?:core\/src\/(?:agents|lines)\/|db\/|ingest\/src\/index|storage\/|collect\/src\/(?!deliver\/delivery-)|usage\/)|\/node_modules\/(?:zod|drizzle-orm|pg|pino)\//;

it.each([[['--help']], [['report', 'daily']], [['sessions']], [['show', 'x']], [['search', 'x']], [['live']]])(
  'recount %j loads no parser, no database and no schemas',
  async (words) => {
    const modules = await listModules(...words);
    expect(modules).toContain('apps/cli/src/run-command-line.ts');
    expect(modules.filter((url) => HEAVY.test(url))).toEqual([]);
    expect(modules.length).toBeLessThan(160);
  },
);

it.each(['api', 'worker'])('recount %s keeps nothing in memory that few requests need', async (command) => {
  const modules = await listModules(command);
  expect(modules).toContain(`apps/cli/src/commands/${command}.ts`);
  expect(modules).toContain(command === 'api' ? 'apps/api/src/app.ts' : 'apps/worker/src/start-worker.ts');
  const rare =
    /^apps\/cli\/src\/commands\/all-commands|^apps\/api\/src\/documents\/|\/node_modules\/(?:@modelcontextprotocol|@secretlint|marked)\//;
  expect(modules.filter((url) => rare.test(url))).toEqual([]);
});
