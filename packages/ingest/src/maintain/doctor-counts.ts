/** What a run of the doctor has looked at, and what it left out. */
export interface DoctorCounts {
  /** Objects of the store whose row was looked for. */
  objects: number;
  /** Transcripts whose raw object was looked for. */
  transcripts: number;
  /** Streams stored as they came whose object was looked for. */
  streams: number;
  /** Objects that were read to their end, and their bytes. */
  checksums: number;
  checksumBytes: number;
  skipped: {
    /** Objects that nothing names, younger than the minimum age: their upload may be under way. */
    youngObjects: number;
    /** Transcripts that wait for a worker, younger than the minimum age: their job was not looked for. */
    youngJobs: number;
    /** Transcripts whose raw object retention has deleted. */
    expiredObjects: number;
    /** Streams that were stored without a checksum, where checksums were asked for. */
    streamsWithoutChecksum: number;
  };
}

export function createDoctorCounts(): DoctorCounts {
  return {
    objects: 0,
    transcripts: 0,
    streams: 0,
    checksums: 0,
    checksumBytes: 0,
    skipped: { youngObjects: 0, youngJobs: 0, expiredObjects: 0, streamsWithoutChecksum: 0 },
  };
}
