export const STAGES = ['quick', 'fast', 'rest', 'all', 'night'] as const;

/**
 * The tests that `npm run test:quick` and `npm test` run, the rest of `npm run test:all`, that and `npm test` together,
 * and everything there is.
 */
export type Stage = (typeof STAGES)[number];

/** By day a run makes the same property tests each time: a failure then comes from the change, and not from chance. */
export const DAY_SEED = 1;

/** A new seed, a whole number below 2 ** 31, for what looks for faults that are there already. */
export const chooseSeed = (): number => Math.floor(Math.random() * 2 ** 31);

/**
 * Files that `npm test` leaves to `npm run test:all`, with the processor seconds that each takes, PostgreSQL, browser
 * and other programs included. A file that is not in this list or the next is fast: `npm test` runs it. A file belongs
 * here if it takes more than some ten seconds and breaks seldom, or not without a fast one.
 */
export const SLOW_FILES: Readonly<Record<string, number>> = {
  'apps/api/src/routes/audit.integration.test.ts': 10,
  'apps/api/src/routes/demo.integration.test.ts': 12,
  'apps/api/src/routes/exports.integration.test.ts': 12,
  'apps/api/src/routes/hostile-uploads.integration.test.ts': 13,
  'apps/api/src/routes/live.integration.test.ts': 16,
  'apps/api/src/routes/multipart-uploads.integration.test.ts': 8,
  'apps/api/src/routes/repositories.integration.test.ts': 13,
  'apps/cli/src/collector/budget-hook.integration.test.ts': 10,
  'apps/cli/src/collector/collector.integration.test.ts': 38,
  'apps/cli/src/collector/device-code.integration.test.ts': 3,
  'apps/cli/src/collector/enrolment.integration.test.ts': 10,
  'apps/cli/src/commands/findings.integration.test.ts': 12,
  'apps/cli/src/commands/ordinary-owner.integration.test.ts': 7,
  'apps/cli/src/first-hour.integration.test.ts': 12,
  'apps/cli/src/up-twice.e2e.test.ts': 17,
  'apps/cli/src/up.e2e.test.ts': 49,
  'apps/cli/src/usage/one-history.integration.test.ts': 16,
  'packages/collect/src/backfill/changing-files.integration.test.ts': 12,
  'packages/collect/src/backfill/large-folder.integration.test.ts': 10,
  'packages/db/src/budgets/budgets-of-a-fleet.integration.test.ts': 30,
  'packages/db/src/reports/report-extremes.integration.test.ts': 12,
  'packages/db/src/reports/rollup-source.integration.test.ts': 14,
  'packages/db/src/reports/totals-source.integration.test.ts': 20,
  'packages/ingest/src/backfill/run-backfill.integration.test.ts': 17,
  'packages/ingest/src/live/long-streams.integration.test.ts': 8,
  'packages/ingest/src/maintenance/apply-repository-renames.integration.test.ts': 9,
  'packages/ingest/src/process/long-line.integration.test.ts': 9,
  'packages/ingest/src/search/run-search-indexer.integration.test.ts': 12,
  'packages/local-postgres/src/start-local-postgres.integration.test.ts': 27,
  'packages/storage/src/s3-raw-store.integration.test.ts': 16,
  'packages/storage/src/sources/s3.integration.test.ts': 7,
  'test/src/clock-jumps.e2e.test.ts': 6,
  'test/src/collector-full-disk.e2e.test.ts': 6,
  'test/src/corpus-ingest.e2e.test.ts': 6,
  'test/src/corpus-issues.integration.test.ts': 10,
  'test/src/corpus-orders.e2e.test.ts': 6,
  'test/src/corpus-parse.integration.test.ts': 12,
  'test/src/dashboard/accessibility.integration.test.ts': 40,
  'test/src/dashboard/admin.integration.test.ts': 15,
  'test/src/dashboard/coming-in.integration.test.ts': 10,
  'test/src/dashboard/corpus-in-browser.integration.test.ts': 22,
  'test/src/dashboard/dashboard.integration.test.ts': 46,
  'test/src/dashboard/demo.integration.test.ts': 12,
  'test/src/dashboard/digests.integration.test.ts': 15,
  'test/src/dashboard/drops.integration.test.ts': 10,
  'test/src/dashboard/exported-figures.integration.test.ts': 9,
  'test/src/dashboard/fleet-figures.integration.test.ts': 44,
  'test/src/dashboard/hostile.integration.test.ts': 34,
  'test/src/dashboard/keys-that-see-less.integration.test.ts': 25,
  'test/src/dashboard/late-answers.integration.test.ts': 50,
  'test/src/dashboard/overview-figures.integration.test.ts': 20,
  'test/src/dashboard/provider-sign-in.integration.test.ts': 17,
  'test/src/dashboard/questions.integration.test.ts': 26,
  'test/src/dashboard/repositories.integration.test.ts': 12,
  'test/src/dashboard/running.integration.test.ts': 12,
  'test/src/dashboard/session-page.integration.test.ts': 21,
  'test/src/dashboard/sign-in.integration.test.ts': 12,
  'test/src/dashboard/subject-pages.integration.test.ts': 33,
  'test/src/dashboard/time-zones.integration.test.ts': 13,
  'test/src/dashboard/view-bar.integration.test.ts': 26,
  'test/src/exhaustion.e2e.test.ts': 19,
  'test/src/first-hour-corpus.integration.test.ts': 4,
  'test/src/full-disk.e2e.test.ts': 16,
  'test/src/generated-shape.integration.test.ts': 6,
  'test/src/growing-sessions.integration.test.ts': 15,
  'test/src/hostile/mutated-transcripts.integration.test.ts': 11,
  'test/src/live-and-stored.e2e.test.ts': 19,
  'test/src/live-api.e2e.test.ts': 15,
  'test/src/live-run.e2e.test.ts': 18,
  'test/src/live-server.e2e.test.ts': 6,
  'test/src/package.e2e.test.ts': 38,
  'test/src/poison.e2e.test.ts': 6,
  'test/src/radosgw-s3.e2e.test.ts': 6,
  'test/src/recorded-stream.e2e.test.ts': 10,
  'test/src/redaction-corpus.integration.test.ts': 5,
  'test/src/shutdown.e2e.test.ts': 21,
  'test/src/usage-only.integration.test.ts': 6,
  'test/src/worker-killed.e2e.test.ts': 24,
};

/** Files of the night alone, with the reason. */
export const NIGHT_FILES: Readonly<Record<string, string>> = {
  'test/src/chaos/chaos.e2e.test.ts': 'takes 90 processor seconds; `pnpm chaos` kills ten times as often',
  'test/src/company/budgets-over-http.integration.test.ts':
    'sends 1,715 sessions of sixty days through the API, day by day, which takes minutes',
  'test/src/dashboard/scrolling.integration.test.ts': 'measures frames, which other work on the machine delays',
};

/** The command that runs a test file, of those that the docs name. */
export function commandOf(file: string): 'npm test' | 'npm run test:all' | 'npm run test:night' {
  if (NIGHT_FILES[file] !== undefined) return 'npm run test:night';
  return SLOW_FILES[file] === undefined ? 'npm test' : 'npm run test:all';
}

/** @throws {Error} if there is no stage of this name */
export function toStage(name: string): Stage {
  const stage = STAGES.find((known) => known === name);
  if (stage === undefined) throw new Error(`unknown stage ${name}; known: ${STAGES.join(', ')}`);
  return stage;
}

/** The stage of the run, from the environment variable RECOUNT_TEST_STAGE; undefined where every file is wanted. */
export function readStage({ RECOUNT_TEST_STAGE: stage }: NodeJS.ProcessEnv): Stage | undefined {
  return stage ? toStage(stage) : undefined;
}

/** The files that a stage runs and leaves out, of the files that end in `suffix`. */
export function selectFiles(suffix: string, stage: Stage | undefined): { include: string[]; exclude: string[] } {
  const [slow, night] = [Object.keys(SLOW_FILES), Object.keys(NIGHT_FILES)];
  if (stage === 'rest') return { include: slow.filter((file) => file.endsWith(suffix)), exclude: [] };
  const include = [`{packages,apps,bench,test,scripts}/**/*${suffix}`];
  if (stage === 'fast' || stage === 'quick') return { include, exclude: [...slow, ...night] };
  return { include, exclude: stage === 'all' ? night : [] };
}
