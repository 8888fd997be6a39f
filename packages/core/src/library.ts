/** The library API of the npm package `recount`, with the parsers of transcripts and of live streams. */
export * from './index.ts';
export * from './live/index.ts';
