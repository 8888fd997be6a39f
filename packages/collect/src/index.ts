export { type FoundSessions, findSessions, type Machine, toBaseFolders } from './find-sessions.ts';
export { type MatchedFile, matchFiles } from './match-files.ts';
