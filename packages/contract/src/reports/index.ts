export * from './page-figures.ts';
export * from './read-path.ts';
export * from './registry.ts';
export * from './report-columns.ts';
export type * from './report-entry.ts';
