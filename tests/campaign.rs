//! Campaigns: random changes, random commands, kills, crowds and full disks, held against models.
//!
//! A short one of each runs with all tests. `AUWAI_CAMPAIGN_ROUNDS=2000` makes those with seeds long,
//! `AUWAI_CAMPAIGN_SEED` begins with a certain one, and `AUWAI_CAMPAIGN_LONG` is for the others.

mod bulk;
mod crash;
mod credit;
mod crowd;
mod damage;
mod disk;
mod ground;
mod heirs;
mod model;
mod reading;
mod state;
mod victim;
