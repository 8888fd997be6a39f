import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest for their size, by which vitest goes if no earlier run has left it their durations. */
const LONG = /\/test\/src\/(dashboard|fleet)\/|-corpus\.|growing-sessions|\/collector\./;

/** Within each project, begins with what takes long, so that in the end no worker is left with it while the others are idle. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const byProject = Map.groupBy(await super.sort(files), ({ project }) => project);
    return [...byProject.values()].flatMap((ofProject) => {
      const long = ofProject.filter(({ moduleId }) => LONG.test(moduleId));
      return [...long, ...ofProject.filter((file) => !long.includes(file))];
    });
  }
}
