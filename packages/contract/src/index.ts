export { MAX_PATH_LENGTH, MAX_SESSION_ID_LENGTH } from './fields.ts';
export * from './health.ts';
export * from './messages.ts';
export * from './paging.ts';
export * from './problem.ts';
export * from './sessions.ts';
export * from './transcripts.ts';
export * from './uploads.ts';
