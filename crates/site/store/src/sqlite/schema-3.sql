-- Version 3: jobs of a slice are found without looking at all that there ever were.
CREATE INDEX job_slice ON job_at(slice);
