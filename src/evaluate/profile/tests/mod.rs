mod bottlenecks;
mod reading;
