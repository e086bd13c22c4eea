-- What devices reach at best, as `kernelbrain calibrate` or the first use of a device measured it.
--
--   > SELECT gpu, measured_at, json_extract(ceilings, '$.copy_gbps') FROM ceilings;

CREATE TABLE ceilings (
    -- UUID of the GPU, or of the instance of a split one.
    gpu         TEXT NOT NULL,
    driver      TEXT NOT NULL,
    -- Highest clocks of multiprocessors and memory: '1980/3201 MHz'.
    clocks      TEXT NOT NULL,
    -- How it was measured; figures of another revision are not used.
    revision    INTEGER NOT NULL,
    -- RFC 3339, UTC.
    measured_at TEXT NOT NULL,
    -- The figures with their units (JSON).
    ceilings    TEXT NOT NULL,
    PRIMARY KEY (gpu, driver, clocks)
) STRICT;
