/** What the npm package `recount` is as a library: the parser of transcripts, and that of live streams. */
export * from './index.ts';
export * from './live/index.ts';
